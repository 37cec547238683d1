package metrics

// Counter is a number of events, or a sum. Its unit is Count, for amounts None.
type Counter uint8

// The counters of a request.
const (
	Admitted        Counter = iota // calls that every budget admitted
	RefusedCaller                  // calls over the caller's cap
	RefusedAddress                 // calls of signed-in callers over the cap on their address
	RefusedGlobal                  // calls over the global ceiling
	RefusedStopped                 // calls during an operator's stop
	RefusedBlocked                 // calls of a caller whom an operator blocked
	RefusedRate                    // requests over a limit on bursts
	RateLimitDown                  // checks of such a limit that its store did not answer
	LockRefused                    // requests that did not come through the edge
	MissingAddress                 // requests through the edge without a usable viewer address
	StoreErrors                    // store calls that failed
	UpstreamErrors                 // paid calls that failed upstream
	HoldsKept                      // calls whose cost is unknown, so that the hold stays
	Overruns                       // calls that cost more than was held for them
	SettledMicroUSD                // what calls cost, in micro-dollars
	counters
)

// Gauge is a value at one moment.
type Gauge uint8

// The gauges. They are of the day of the request and stand in the lines of requests
// that asked the store for the ceiling.
const (
	GlobalUsedMicroUSD Gauge = iota // settled and held, in micro-dollars
	GlobalCapMicroUSD
	GlobalUsedCalls
	GlobalCapCalls
	GlobalUsedPercent // of the dollars or of the calls, whichever is nearer to its cap; rounded down
	gauges
)

// Timer is how long something took. Its unit is milliseconds.
type Timer uint8

// The timers of a request.
const (
	Latency         Timer = iota // the whole request, recorded by Flush
	StoreLatency                 // each store call
	UpstreamLatency              // the paid call
	timers
)

var counterNames = [counters]string{
	Admitted:        "Admitted",
	RefusedCaller:   "RefusedCaller",
	RefusedAddress:  "RefusedAddress",
	RefusedGlobal:   "RefusedGlobal",
	RefusedStopped:  "RefusedStopped",
	RefusedBlocked:  "RefusedBlocked",
	RefusedRate:     "RefusedRate",
	RateLimitDown:   "RateLimitDown",
	LockRefused:     "LockRefused",
	MissingAddress:  "MissingAddress",
	StoreErrors:     "StoreErrors",
	UpstreamErrors:  "UpstreamErrors",
	HoldsKept:       "HoldsKept",
	Overruns:        "Overruns",
	SettledMicroUSD: "SettledMicroUSD",
}

var gaugeNames = [gauges]string{
	GlobalUsedMicroUSD: "GlobalUsedMicroUSD",
	GlobalCapMicroUSD:  "GlobalCapMicroUSD",
	GlobalUsedCalls:    "GlobalUsedCalls",
	GlobalCapCalls:     "GlobalCapCalls",
	GlobalUsedPercent:  "GlobalUsedPercent",
}

var timerNames = [timers]string{
	Latency:         "Latency",
	StoreLatency:    "StoreLatency",
	UpstreamLatency: "UpstreamLatency",
}

// String is the name of the metric in CloudWatch.
func (c Counter) String() string { return counterNames[c] }

// String is the name of the metric in CloudWatch.
func (g Gauge) String() string { return gaugeNames[g] }

// String is the name of the metric in CloudWatch.
func (t Timer) String() string { return timerNames[t] }

// unit is one of the units that CloudWatch knows
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html).
func (c Counter) unit() string {
	if c == SettledMicroUSD {
		return "None"
	}
	return "Count"
}

func (g Gauge) unit() string {
	switch g {
	case GlobalUsedMicroUSD, GlobalCapMicroUSD:
		return "None"
	case GlobalUsedPercent:
		return "Percent"
	}
	return "Count"
}
