// Package secretsmanager reads secrets from AWS Secrets Manager: those of an origin
// lock, with [New], and single ones, with [Read]. It is a package of its own so that
// an originlock with another source does not compile the AWS SDK.
//
// It needs permission for the action secretsmanager:GetSecretValue on the secret, and
// kms:Decrypt on its key if that is not the AWS managed one.
package secretsmanager
