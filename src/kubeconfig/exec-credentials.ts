/**
 * Credential plugins: runs a program that gets its input in an environment variable and prints an
 * `ExecCredential`. The result is cached until it expires or the server rejects it. Interactive plugins are
 * not supported.
 */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Platform, Process } from '#/platform/platform.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { ExecSettings } from './connection-settings.ts'
import { authorization, type Credentials, type RequestCredentials } from './credentials.ts'

/** Timeout for a plugin, which may wait for a login elsewhere. */
const pluginMsMax = 10 * 60_000

const outputBytesMax = 1_048_576

/** Maximum number of characters of the plugin's stderr in an error message. */
const stderrCharactersMax = 1_000

export function execCredentials(platform: Platform, settings: ExecSettings): Credentials {
  let cached: PluginResult | undefined
  let running: Promise<PluginResult> | undefined
  return {
    current: async () => {
      if (cached !== undefined && platform.clock.now() < cached.expiresMs) return cached.credentials
      // Concurrent requests share one run of the plugin, and an aborted request does not cancel it.
      running ??= runPlugin(platform, settings).finally(() => {
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

async function runPlugin(platform: Platform, settings: ExecSettings): Promise<PluginResult> {
  const { apiVersion, command, environment, interactiveMode, cluster, installHint } = settings
  const [program = ''] = command
  if (interactiveMode === 'Always') throw failed(settings, 'interactiveMode Always is not supported')
  const request = {
    kind: 'ExecCredential',
    apiVersion,
    spec: { interactive: false, ...(cluster && { cluster }) },
  }
  using abort = new LinkedAbort(undefined)
  const timer = platform.clock.setTimer(pluginMsMax, () => abort.abort(failed(settings, 'timed out')))
  try {
    const variables = { ...environment, KUBERNETES_EXEC_INFO: stringifyJson(request as unknown as JsonValue) }
    const process = await platform.processes.start(command, { environment: variables, signal: abort.signal })
    return decodeOutput(settings, await waitForOutput(process, settings))
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code !== 'ENOENT') throw error
    const hint = installHint ? `\n\n${installHint}` : ''
    throw new Error(`exec plugin: executable ${program} not found${hint}`, { cause: error })
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
  if ('code' in exit && exit.code === 0) return output
  const how = 'code' in exit ? `exit code ${exit.code}` : `terminated by ${exit.signal}`
  throw failed(settings, `${how} ${stderr.slice(0, stderrCharactersMax)}`.trim())
}

async function collect(stream: NodeJS.ReadableStream, settings: ExecSettings): Promise<string> {
  const pieces: Buffer[] = []
  let total = 0
  for await (const piece of stream) {
    pieces.push(Buffer.from(piece))
    total += piece.length
    if (total > outputBytesMax) throw failed(settings, `output exceeds ${outputBytesMax} bytes`)
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
  const { kind, apiVersion, status } = parse(settings, output)
  if (kind !== 'ExecCredential' || apiVersion !== settings.apiVersion) {
    throw failed(
      settings,
      `expected ${settings.apiVersion} ExecCredential, got ${String(apiVersion)} ${String(kind)}`,
    )
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp: expiry } = status ?? {}
  const certificate = typeof cert === 'string' && typeof key === 'string' ? { cert, key } : undefined
  if ((typeof token !== 'string' || token === '') && !certificate) {
    throw failed(settings, 'neither a token nor a client certificate with key was returned')
  }
  const expiresMs = typeof expiry === 'string' ? parseTime(expiry) : Infinity
  if (expiresMs === undefined) throw failed(settings, 'invalid expirationTimestamp')
  const headers = authorization(typeof token === 'string' ? token : undefined)
  return { credentials: { headers, ...(certificate && { certificate }) }, expiresMs }
}

function parse(settings: ExecSettings, output: string): ExecCredential {
  try {
    const value = parseJson(output)
    return typeof value === 'object' && value !== null ? (value as ExecCredential) : {}
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw failed(settings, 'output is not valid JSON', error)
  }
}

function failed({ command }: ExecSettings, reason: string, cause?: unknown): Error {
  return new Error(`exec plugin ${command[0]}: ${reason}`, { cause })
}
