/**
 * Credential plugins: runs a program that gets its input in an environment variable and prints an
 * `ExecCredential`. The result is cached until it expires or the server rejects it. A plugin may ask the user if the
 * program has given it its standard streams.
 */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { parseTime } from '#/api/text/time.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import type { Platform, Process, ProcessExit } from '#/platform/platform.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { ExecSettings } from './connection-settings.ts'
import { authorization, CredentialsError, type Credentials, type RequestCredentials } from './credentials.ts'

/** Timeout for a plugin, which may wait for a login elsewhere. */
const pluginMsMax = 10 * 60_000

const outputBytesMax = 1_048_576

/** Maximum number of characters of the plugin's stderr in an error message. */
const stderrCharactersMax = 1_000

/** Streams of a program in the foreground. */
export type PluginStreams = Pick<IOStreams, 'runInteractive'> & {
  readonly stdin: Pick<IOStreams['stdin'], 'isTerminal'>
}

/** Without streams the plugin runs in the background, and its stderr is part of an error. */
export function execCredentials(
  platform: Platform,
  settings: ExecSettings,
  streams?: PluginStreams,
): Credentials {
  let cached: PluginResult | undefined
  let running: Promise<PluginResult> | undefined
  return {
    current: async () => {
      if (cached !== undefined && platform.clock.now() < cached.expiresMs) return cached.credentials
      // Concurrent requests share one run of the plugin, and an aborted request does not cancel it.
      running ??= runPlugin(platform, settings, streams).finally(() => {
        running = undefined
      })
      cached = await running
      return cached.credentials
    },
    onUnauthorized: credentials => {
      if (cached?.credentials === credentials) cached = undefined
      return true
    },
  }
}

interface PluginResult {
  readonly credentials: RequestCredentials
  /** Wall time. */
  readonly expiresMs: number
}

async function runPlugin(
  platform: Platform,
  settings: ExecSettings,
  streams: PluginStreams | undefined,
): Promise<PluginResult> {
  const { apiVersion, command, environment, cluster, installHint } = settings
  const interactive = isInteractive(settings, streams)
  const request = { kind: 'ExecCredential', apiVersion, spec: { interactive, ...(cluster && { cluster }) } }
  const variables = { ...environment, KUBERNETES_EXEC_INFO: stringifyJson(request as unknown as JsonValue) }
  try {
    const output =
      streams === undefined
        ? await runInBackground(platform, settings, variables)
        : await runInForeground(streams, settings, { environment: variables, interactive })
    return decodeOutput(settings, output)
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code !== 'ENOENT') throw error
    const hint = installHint ? `\n\n${installHint}` : ''
    throw failed(`exec: executable ${command[0]} not found${hint}`, error)
  }
}

function isInteractive({ interactiveMode }: ExecSettings, streams: PluginStreams | undefined): boolean {
  const isTerminal = streams?.stdin.isTerminal === true
  if (interactiveMode === 'Always' && !isTerminal)
    throw failed('exec plugin cannot support interactive mode: standard input is not a terminal')
  return interactiveMode !== 'Never' && isTerminal
}

interface ForegroundOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly interactive: boolean
}

/** Without a limit of time: the user can end the plugin. */
async function runInForeground(
  streams: PluginStreams,
  settings: ExecSettings,
  { environment, interactive }: ForegroundOptions,
): Promise<string> {
  const { exit, output } = await streams.runInteractive(settings.command, {
    environment,
    input: interactive ? 'inherit' : 'nothing',
    capture: { sizeBytesMax: outputBytesMax },
  })
  assertSuccess(settings, exit)
  return Buffer.from(output).toString()
}

async function runInBackground(
  platform: Platform,
  settings: ExecSettings,
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  using abort = new LinkedAbort(undefined)
  const expire = (): void => abort.abort(failed(`exec: executable ${settings.command[0]} timed out`))
  const timer = platform.clock.setTimer(pluginMsMax, expire)
  try {
    const process = await platform.processes.start(settings.command, { environment, signal: abort.signal })
    return await waitForOutput(process, settings)
  } catch (error) {
    throw abort.signal.aborted ? abort.signal.reason : error
  } finally {
    timer.cancel()
  }
}

async function waitForOutput(process: Process, settings: ExecSettings): Promise<string> {
  process.stdin.end()
  const [output, stderr, exit] = await Promise.all([
    collect(process.stdout, settings),
    collect(process.stderr, settings),
    process.exited,
  ])
  assertSuccess(settings, exit, stderr)
  return output
}

function assertSuccess({ command }: ExecSettings, exit: ProcessExit, stderr = ''): void {
  const code = 'code' in exit ? exit.code : -1
  if (code === 0) return
  const text = stderr.slice(0, stderrCharactersMax).trim()
  throw failed(
    `exec: executable ${command[0]} failed with exit code ${code}${text === '' ? '' : `: ${text}`}`,
  )
}

async function collect(stream: NodeJS.ReadableStream, { command }: ExecSettings): Promise<string> {
  const pieces: Buffer[] = []
  let total = 0
  for await (const piece of stream) {
    pieces.push(Buffer.from(piece))
    total += piece.length
    if (total > outputBytesMax)
      throw failed(`exec: the output of executable ${command[0]} exceeds ${outputBytesMax} bytes`)
  }
  return Buffer.concat(pieces).toString()
}

interface ExecCredential {
  readonly kind?: unknown
  readonly apiVersion?: unknown
  readonly status?: {
    readonly token?: unknown
    readonly clientCertificateData?: unknown
    readonly clientKeyData?: unknown
    readonly expirationTimestamp?: unknown
  } | null
}

function decodeOutput(settings: ExecSettings, output: string): PluginResult {
  const { kind, apiVersion, status } = parse(output)
  if (kind !== 'ExecCredential')
    throw failed(`decoding stdout: expected kind ExecCredential, got ${String(kind)}`)
  if (apiVersion !== settings.apiVersion) {
    throw failed(
      `exec plugin is configured to use API version ${settings.apiVersion}, ` +
        `plugin returned version ${String(apiVersion)}`,
    )
  }
  if (typeof status !== 'object' || status === null) throw failed("exec plugin didn't return a status field")
  const { clientCertificateData: cert, clientKeyData: key, expirationTimestamp: expiry } = status
  const token = textOf(status.token)
  const certificate = { cert: textOf(cert), key: textOf(key) }
  const hasCertificate = certificate.cert !== ''
  if (token === '' && !hasCertificate && certificate.key === '')
    throw failed("exec plugin didn't return a token or cert/key pair")
  if (hasCertificate !== (certificate.key !== ''))
    throw failed('exec plugin returned only certificate or key, not both')
  const expiresMs = typeof expiry === 'string' ? parseTime(expiry) : Infinity
  if (expiresMs === undefined) throw failed('decoding stdout: invalid expirationTimestamp')
  const headers = authorization(token)
  return { credentials: { headers, ...(hasCertificate && { certificate }) }, expiresMs }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function parse(output: string): ExecCredential {
  try {
    const value = parseJson(output)
    return typeof value === 'object' && value !== null ? (value as ExecCredential) : {}
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw failed(`decoding stdout: couldn't get version/kind; json parse error: ${error.message}`, error)
  }
}

function failed(reason: string, cause?: unknown): CredentialsError {
  return new CredentialsError(`getting credentials: ${reason}`, { cause })
}
