package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/metrics"
)

// dashboard answers, from the top: how much is spent today, who is refused and why, is
// it fast.
func (c *SpendCap) dashboard() {
	d := awscloudwatch.NewDashboard(c.Construct, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DefaultInterval: awscdk.Duration_Days(jsii.Number(1)),
	})
	label := func(m awscloudwatch.Metric, text string) awscloudwatch.IMetric {
		return m.With(&awscloudwatch.MetricOptions{Label: &text})
	}
	dollars := func(m awscloudwatch.Metric, text string) awscloudwatch.IMetric {
		id := "micro" + *m.MetricName()
		return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression:   jsii.String(id + " / 1000000"),
			UsingMetrics: &map[string]awscloudwatch.IMetric{id: m},
			Label:        &text,
			Period:       m.Period(),
		})
	}
	sum := func(n metrics.Counter, text string) awscloudwatch.IMetric {
		return label(c.metric(n, "Sum", 300), text)
	}
	graph := func(title string, width float64, lines ...awscloudwatch.IMetric) awscloudwatch.IWidget {
		return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
			Title: &title, Width: &width, Height: jsii.Number(6), Left: &lines,
			LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0), ShowUnits: jsii.Bool(false)},
		})
	}
	d.AddWidgets(
		awscloudwatch.NewSingleValueWidget(&awscloudwatch.SingleValueWidgetProps{
			Title: jsii.String("Today's ceiling, used in per cent"), Width: jsii.Number(6), Height: jsii.Number(6),
			Metrics: &[]awscloudwatch.IMetric{label(c.metric(metrics.GlobalUsedPercent, "Maximum", 300), "used")},
		}),
		graph("Spend today against the ceiling (dollars)", 18,
			dollars(c.metric(metrics.GlobalUsedMicroUSD, "Maximum", 300), "settled and held"),
			dollars(c.metric(metrics.GlobalCapMicroUSD, "Maximum", 300), "ceiling")),
	)
	d.AddWidgets(
		graph("Calls", 12, sum(metrics.Admitted, "admitted"), sum(metrics.UpstreamErrors, "failed upstream")),
		graph("Refusals by reason", 12,
			sum(metrics.RefusedCaller, "over the caller's cap"), sum(metrics.RefusedAddress, "over the address's cap"), sum(metrics.RefusedGlobal, "over the global ceiling"),
			sum(metrics.RefusedRate, "over a limit on bursts"), sum(metrics.RefusedStopped, "stopped by the operator"), sum(metrics.RefusedBlocked, "blocked by the operator"),
			sum(metrics.LockRefused, "not through the edge"), sum(metrics.MissingAddress, "no viewer address"),
			sum(metrics.StoreErrors, "store errors")),
	)
	d.AddWidgets(
		graph("Latency (ms)", 12,
			label(c.metric(metrics.Latency, "p50", 300), "request, p50"), label(c.metric(metrics.Latency, "p99", 300), "request, p99"),
			label(c.metric(metrics.StoreLatency, "p99", 300), "store call, p99"), label(c.metric(metrics.UpstreamLatency, "p50", 300), "paid call, p50")),
		graph("What calls cost (dollars per 5 minutes), and what is uncertain", 12,
			dollars(c.metric(metrics.SettledMicroUSD, "Sum", 300), "settled"),
			sum(metrics.HoldsKept, "holds kept: cost unknown"), sum(metrics.Overruns, "cost above the hold")),
	)
}
