"""The machine under every controller: clock, store, queue, informer, controller, leader, webhooks, manager."""
