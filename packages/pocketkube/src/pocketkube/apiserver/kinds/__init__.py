"""The kinds a server serves: what their objects look like, how they are completed, checked and shown. All of it is pure."""
