"""`korder simulate`: plays manifests on virtual time and reports what happens when."""
