"""Who asks, and what they may do: tokens, service accounts, RBAC, and the reviews that tell about them."""
