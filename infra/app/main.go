// Command app is the CDK app that `npx cdk deploy` runs. Its settings are context
// values, `-c name=value`; see docs/deploy.md.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/infra"
)

func main() {
	code := run()
	jsii.Close()
	os.Exit(code)
}

func run() int {
	app := awscdk.NewApp(nil)
	context, _ := app.Node().GetAllContext(nil).(map[string]any)
	name, props, err := read(context)
	if err == nil {
		_, _, err = infra.NewStack(app, name, props)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, contextNames.Replace(err.Error()))
		return 1
	}
	app.Synth(nil)
	return 0
}
