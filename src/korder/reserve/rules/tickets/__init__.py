"""What a ticket does: its guardian, its clock, its phases, its end."""
