// Package infra is spendcap on AWS, as a construct for the AWS CDK: [NewSpendCap] puts
// it into any stack, in front of the Lambda that comes with it or of one's own, and
// [NewStack] makes the stack that `cdk deploy` deploys.
//
// Whatever is wrong with the settings comes back as an error at synthesis, before
// anything is deployed.
package infra
