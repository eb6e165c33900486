"""What people are told: explanations and figures, by the rules that decide."""
