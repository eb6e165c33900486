"""What is asked of us when somebody writes: admission of pods, orders and tickets."""
