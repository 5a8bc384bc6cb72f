/** How kubectl reports errors: texts that scripts match on, and exit codes. */
import { ApiError } from '#/api/errors.ts'
import { quote } from '#/api/text/quote.ts'
import { InvalidFlagValue, UsageError } from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import { TransportError } from '#/client/transport.ts'
import { CredentialsError } from '#/kubeconfig/credentials.ts'
import {
  ContextNotFoundError,
  InvalidKubeconfigError,
  KubeconfigFileError,
} from '#/kubeconfig/kubeconfig-error.ts'
import { closestWord } from './closest-word.ts'

/** Ends the command with an exit code of its own; prints the message as it is, and nothing without one. */
export class ExitError extends Error {
  readonly exitCode: number

  constructor(exitCode: number, message = '', options?: ErrorOptions) {
    super(message, options)
    this.name = 'ExitError'
    this.exitCode = exitCode
  }
}

/** Arguments that the command does not accept. Its help is named after the message. */
export class CommandUsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandUsageError'
  }
}

/** An API error with what kubectl was doing: `error when creating "web.yaml"`. */
export class ContextError extends Error {
  readonly context: string

  constructor(context: string, cause: unknown) {
    super(`${context}: ${messageOf(cause)}`, { cause })
    this.name = 'ContextError'
    this.context = context
  }
}

/** An error that upstream's commands print without `error: `. */
export class UnprefixedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UnprefixedError'
  }
}

export interface ErrorContext {
  /** `kubectl get`. */
  readonly commandPath: string
  /** URL of the API server, if it is known. */
  readonly server?: string | undefined
  /** Of the command; absent if errors have exit code 1. */
  readonly errorExitCode?: number | undefined
}

export function exitCodeOf(error: unknown, otherwise = 1): number {
  return error instanceof ExitError ? error.exitCode : otherwise
}

/** What a template has printed before it failed. */
export function outputBefore(error: unknown): string {
  const { output } = error as { readonly output?: unknown }
  return typeof output === 'string' ? output : ''
}

/** Lines for stderr, with a line break at the end unless there are none. */
export function describeError(error: unknown, context: ErrorContext): string {
  if (error instanceof ExitError) return error.message.replace(/([^\n])$/, '$1\n')
  if (error instanceof AggregateError && error.errors.length === 1)
    return describeError(error.errors[0], context)
  if (error instanceof AggregateError) {
    return error.errors.map(each => lineOf(each, { ...context, prefix: '' })).join('')
  }
  const apiError = error instanceof ContextError ? error.cause : error
  // Among several errors it is described as any other.
  if (apiError instanceof ApiError && apiError.reason === 'Invalid')
    return `${describeInvalid(apiError.status)}\n`
  return lineOf(error, { ...context, prefix: 'error: ' })
}

function lineOf(error: unknown, context: ErrorContext & { readonly prefix: string }): string {
  const { prefix, commandPath } = context
  const example = `See '${commandPath} -h' for help and examples`
  const usage = context.errorExitCode === undefined ? `See '${commandPath} --help' for usage.` : example
  if (error instanceof InvalidFlagValue) {
    const { text, names, reason } = error
    return `error: invalid argument ${JSON.stringify(text)} for "${names}" flag: ${reason}\n${usage}\n`
  }
  if (error instanceof UsageError) return `error: ${error.message}\n${usage}\n`
  if (error instanceof CommandUsageError) {
    return `error: ${error.message}\n${example}\n`
  }
  if (error instanceof ApiError) return `${describeApiError(error, '')}\n`
  if (error instanceof ContextError && error.cause instanceof ApiError) {
    return `${describeApiError(error.cause, error.context)}\n`
  }
  if (error instanceof CredentialsError) return `Unable to connect to the server: ${error.message}\n`
  if (error instanceof InvalidKubeconfigError) return `${describeKubeconfigError(error)}\n`
  if (error instanceof KubeconfigFileError) return `error: ${describeFileError(error)}\n`
  const unreachable = transportErrorOf(error)
  if (unreachable !== undefined) return `${describeTransportError(unreachable, context)}\n`
  const message = messageOf(error)
  return error instanceof UnprefixedError || message.startsWith('error: ')
    ? `${message}\n`
    : `${prefix}${message}\n`
}

function describeKubeconfigError(error: InvalidKubeconfigError): string {
  const { problems } = error
  const [problem = '', ...more] = problems
  if (more.length > 0) return `Error in configuration: \n${problems.map(each => `* ${each}`).join('\n')}`
  if (!(error instanceof ContextNotFoundError)) return `error: ${problem}`
  const closest = closestWord(error.context, error.known)
  const hint = closest === undefined ? '' : `\nDid you mean ${quote(closest)}?`
  return `Error in configuration: ${problem}${hint}`
}

function describeFileError({ given, reason, isMissing }: KubeconfigFileError): string {
  return isMissing
    ? `stat ${given}: no such file or directory`
    : `error loading config file ${JSON.stringify(given)}: ${reason}`
}

function describeApiError({ reason, message }: ApiError, context: string): string {
  if (reason === 'Unauthorized')
    return `error: You must be logged in to the server (${message || 'Unauthorized'})`
  const head = reason === '' ? 'Error from server' : `Error from server (${reason})`
  return `${head}: ${context === '' ? '' : `${context}: `}${message}`
}

/** The causes of a rejected object, one in each line if there are several. */
function describeInvalid({ details, message = '' }: ApiError['status']): string {
  const { kind = '', name = '', causes = [] } = details ?? {}
  const isNamed = kind !== '' || name !== ''
  const head = isNamed ? `The ${kind} ${quote(name)} is invalid` : 'The request is invalid'
  if (causes.length === 0) return isNamed || message === '' ? head : `${head}: ${message}`
  const texts = causes.map(({ field = '', message: text = '' }) => `${field}: ${text}`)
  const unique = [...new Set(texts)]
  if (unique.length === 1) return `${head}: ${unique[0]}`
  return `${head}: \n${unique.map(each => `* ${each}`).join('\n')}`
}

function transportErrorOf(error: unknown): TransportError | undefined {
  if (error instanceof TransportError) return error
  return error instanceof ContextError && error.cause instanceof TransportError ? error.cause : undefined
}

function describeTransportError(error: TransportError, { server = '' }: ErrorContext): string {
  const code = systemCodeOf(error)
  const host = server.replace(/^https?:\/\//, '').replace(/\/.*$/, '')
  if (code === 'ECONNREFUSED') {
    return `The connection to the server ${host} was refused - did you specify the right host or port?`
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const name = host.replace(/:\d+$/, '')
    return `Unable to connect to the server: dial tcp: lookup ${name}: no such host`
  }
  if (code?.includes('CERT') || code?.includes('SIGNATURE')) {
    const reason = code.includes('ALTNAME') ? describeOtherName(error) : unknownAuthority
    return `Unable to connect to the server: tls: failed to verify certificate: x509: ${reason}`
  }
  if (error.reason === 'timeout') {
    const reason = 'net/http: request canceled (Client.Timeout exceeded while awaiting headers)'
    return `Unable to connect to the server: ${reason}`
  }
  return `Unable to connect to the server: ${error.message}`
}

const unknownAuthority = 'certificate signed by unknown authority'

/** A certificate for other names than the one of the server. */
function describeOtherName(error: unknown): string {
  const found = causesOf(error).find(cause => typeof cause['host'] === 'string')
  const host = typeof found?.['host'] === 'string' ? found['host'].replace(/\.$/, '') : ''
  const { subjectaltname = '' } = (found?.['cert'] ?? {}) as { readonly subjectaltname?: string }
  const kind = /^[\d.]+$|:/.test(host) ? 'IP Address' : 'DNS'
  const names = subjectaltname.split(', ').filter(name => name.startsWith(`${kind}:`))
  if (names.length > 0) {
    return `certificate is valid for ${names.map(name => name.slice(kind.length + 1)).join(', ')}, not ${host}`
  }
  return kind === 'DNS'
    ? `certificate is not valid for any names, but wanted to match ${host}`
    : `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
}

/** Depth to which causes are searched. */
const causesMax = 10

/** An error and its causes, with the fields that Node adds to errors. */
function causesOf(error: unknown): readonly Readonly<Record<string, unknown>>[] {
  const causes: Readonly<Record<string, unknown>>[] = []
  let current: unknown = error
  while (current instanceof Error && causes.length < causesMax) {
    causes.push(current as unknown as Readonly<Record<string, unknown>>)
    current = current.cause
  }
  return causes
}

function systemCodeOf(error: unknown): string | undefined {
  const found = causesOf(error).find(({ code }) => typeof code === 'string')
  return found && String(found['code'])
}
