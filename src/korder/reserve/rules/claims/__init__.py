"""Which pod gets which ticket, and how the room passes from guardian to pod."""
