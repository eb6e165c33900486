"""The controller runtime: clock, store, queue, informer, controller, leader, events, metrics, webhook server, manager."""
