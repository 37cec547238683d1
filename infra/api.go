package infra

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
)

// accessLog is one line per request. Nothing in it stands for a viewer: no address, no
// user agent, no path, which may hold anything.
var accessLog = map[string]string{
	"requestId":        "$context.requestId",
	"time":             "$context.requestTimeEpoch",
	"method":           "$context.httpMethod",
	"status":           "$context.status",
	"latency":          "$context.responseLatency",
	"bytes":            "$context.responseLength",
	"integrationError": "$context.integrationErrorMessage",
}

// api is the HTTP API, whose own URL is the side door. All paths go to the function on
// the stage $default: any other stage would put its name in front of every path. See
// routes for those that ask for a token.
func (c *SpendCap) api() {
	c.API = awsapigatewayv2.NewCfnApi(c.Construct, jsii.String("Api"), &awsapigatewayv2.CfnApiProps{
		Name:         jsii.String(c.settings.Service),
		Description:  jsii.String("spendcap: the origin behind CloudFront; called directly it answers 401"),
		ProtocolType: jsii.String("HTTP"),
	})
	integration := awsapigatewayv2.NewCfnIntegration(c.Construct, jsii.String("Integration"), &awsapigatewayv2.CfnIntegrationProps{
		ApiId:                c.API.Ref(),
		IntegrationType:      jsii.String("AWS_PROXY"),
		IntegrationUri:       c.Handler.FunctionArn(),
		PayloadFormatVersion: jsii.String("2.0"),
		TimeoutInMillis:      jsii.Number(float64(deadlines.Gateway.Milliseconds())),
	})
	c.routes(integration)
	format, _ := json.Marshal(accessLog) // a map of strings always has a JSON form
	awsapigatewayv2.NewCfnStage(c.Construct, jsii.String("Stage"), &awsapigatewayv2.CfnStageProps{
		ApiId:      c.API.Ref(),
		StageName:  jsii.String("$default"),
		AutoDeploy: jsii.Bool(true),
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{
			ThrottlingRateLimit:  jsii.Number(float64(c.settings.RequestsPerSecond)),
			ThrottlingBurstLimit: jsii.Number(float64(c.settings.Burst)),
		},
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
			DestinationArn: c.logs("AccessLogs").LogGroupArn(),
			Format:         jsii.String(string(format)),
		},
	})
	c.SideDoorURL = jsii.String(fmt.Sprintf("https://%s", *c.domain()))
}

// domain is the host of the side door.
func (c *SpendCap) domain() *string {
	stack := awscdk.Stack_Of(c.Construct)
	return jsii.String(fmt.Sprintf("%s.execute-api.%s.%s", *c.API.Ref(), *stack.Region(), *stack.UrlSuffix()))
}
