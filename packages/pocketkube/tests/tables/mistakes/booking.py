"""Mistakes in resources, monitors, bookings and their schedulers."""

from tests.tables.mistakes.spoiling import GONE, conditions, created, reported, unknown_word

BOOKING = (
    created("a resource without a tag", "Resource", {"spec.tag": GONE}),
    created("a resource with an empty tag", "Resource", {"spec.tag": ""}),
    created("a resource without a type", "Resource", {"spec.type": GONE}),
    created(
        "a hold by hand until some day",
        "Resource",
        {"spec.booked_until": "friday"},
        says="booked_until must be an instant with its offset",
    ),
    created(
        "a resource that depends on one in capitals",
        "Resource",
        {"spec.depends_on": ["Database"]},
        field="spec.depends_on[0]",
        says="depends_on must be lower-case letters, digits, dashes and dots",
    ),
    created("a negative turnaround", "Resource", {"spec.turnaround": -5}),
    unknown_word("Resource", "spec.type"),
    unknown_word("Resource", "spec.idle_policy"),
    unknown_word("Resource", "spec.conflict_policy"),
    unknown_word("Resource", "spec.deletion_policy"),
    unknown_word("Resource", "status.status"),
    conditions("Resource"),
    reported("a resource with minus one machine", "Resource", {}, {"status.instances": -1}),
    created("a monitor without a type", "ResourceMonitor", {"spec.type": GONE}),
    unknown_word("ResourceMonitor", "spec.type"),
    conditions("ResourceMonitor"),
    created("a booking of nothing", "Booking", {"spec.resource_name": GONE}),
    created("a booking of an empty name", "Booking", {"spec.resource_name": ""}),
    created("a booking for nobody", "Booking", {"spec.user_id": ""}),
    created("a booking without a start", "Booking", {"spec.start_at": GONE}),
    created("a booking without an end", "Booking", {"spec.end_at": GONE}),
    created(
        "a booking that ends before it starts",
        "Booking",
        {"spec.end_at": "2029-12-31T00:00:00Z"},
        says="end_at must be later than start_at",
    ),
    created(
        "a booking that ends as it starts, in another zone",
        "Booking",
        {"spec.end_at": "2030-01-01T21:00:00+01:00"},
        says="end_at must be later than start_at",
    ),
    created(
        "a booking without an offset",
        "Booking",
        {"spec.start_at": "2030-01-01T20:00:00"},
        says="an instant with its offset such as 2030-01-31T08:30:00Z",
    ),
    created("a booking in month thirteen", "Booking", {"spec.start_at": "2030-13-01T20:00:00Z"}),
    created("a booking at 25 o'clock", "Booking", {"spec.start_at": "2030-01-01T25:00:00Z"}),
    created("a booking with a space for a T", "Booking", {"spec.start_at": "2030-01-01 20:00:00Z"}),
    created("a booking on a day only", "Booking", {"spec.start_at": "2030-01-01"}),
    created(
        "a reminder that comes at the end",
        "Booking",
        {"spec.leads": ["0m"]},
        field="spec.leads[0]",
        says="leads must be a duration longer than zero",
    ),
    created(
        "a notification to nobody",
        "Booking",
        {"spec.notifications[0].recipient": GONE},
    ),
    unknown_word("Booking", "spec.notifications[0].type"),
    unknown_word("Booking", "status.status"),
    reported(
        "a booking in progress without the space", "Booking", {}, {"status.status": "IN_PROGRESS"}
    ),
    conditions("Booking"),
    created(
        "a scheduler without a schedule",
        "BookingScheduler",
        {"spec.schedule": GONE},
        says="schedule must be given, or rrule, and not both",
    ),
    created(
        "a scheduler with two schedules",
        "BookingScheduler",
        {"spec.rrule": "FREQ=DAILY"},
        field="spec.schedule",
        says="schedule must be given, or rrule, and not both",
    ),
    created(
        "a scheduler with a bad schedule",
        "BookingScheduler",
        {"spec.schedule": "8 o'clock"},
        says="schedule must be five cron fields such as '0 8",
    ),
    created(
        "a scheduler with a bad rule",
        "BookingScheduler",
        {"spec.rrule": "every week", "spec.schedule": GONE},
        says="rrule must be an iCalendar rule",
    ),
    created("a scheduler for bookings of no time", "BookingScheduler", {"spec.duration": 0}),
    created(
        "a scheduler for bookings without a length", "BookingScheduler", {"spec.duration": GONE}
    ),
    created(
        "a scheduler for bookings of a time in words", "BookingScheduler", {"spec.duration": "10h"}
    ),
    created("a scheduler without a template", "BookingScheduler", {"spec.bookingTemplate": GONE}),
    created("a scheduler for nobody", "BookingScheduler", {"spec.bookingTemplate.user_id": GONE}),
    created(
        "a scheduler that ends twice",
        "BookingScheduler",
        {"spec.count": 3, "spec.until": "2031-01-01T00:00:00Z"},
        says="count must not be used together with until",
    ),
    created(
        "a scheduler in two zones",
        "BookingScheduler",
        {"spec.time_zone": "Europe/Berlin", "spec.schedule": "CRON_TZ=UTC 0 8 * * *"},
        says="time_zone must not be used with a schedule that names its own zone",
    ),
    created(
        "a scheduler in no zone",
        "BookingScheduler",
        {"spec.time_zone": "here and there"},
        says="time_zone must be the name of a time zone",
    ),
    created("a scheduler for minus one booking", "BookingScheduler", {"spec.count": -1}),
    created(
        "a scheduler without a day that is none",
        "BookingScheduler",
        {"spec.exdates": ["2030-02-30"]},
        field="spec.exdates[0]",
    ),
    created(
        "a scheduler that looks no way ahead",
        "BookingScheduler",
        {"spec.horizon": "0s"},
        says="horizon must be a duration longer than zero",
    ),
    unknown_word(
        "BookingScheduler",
        "spec.bookingTemplate.notifications[0].type",
        {"spec.bookingTemplate.notifications[0].recipient": "a"},
    ),
    conditions("BookingScheduler"),
)
