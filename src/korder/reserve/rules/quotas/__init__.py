"""How much may be held: limits and their times, whom they mean, what counts, and the one verdict about a wish."""
