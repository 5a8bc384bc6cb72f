/** Result of a command as sent on the error stream. */
import type { CommandResult } from '../streams.ts'

/** The fields of a Status that clients use. */
interface Status {
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] }
}

/** Result for protocols without exit codes. Empty on success. */
export function resultText(result: CommandResult): string {
  if (result.type === 'failed') return result.message
  return result.code === 0 ? '' : nonZeroText(result.code)
}

/** Result as a Status. */
export function resultStatus(result: CommandResult): string {
  return JSON.stringify({ metadata: {}, ...statusFields(result) })
}

function statusFields(result: CommandResult): Status & { readonly code?: number } {
  if (result.type === 'failed') {
    return { status: 'Failure', message: result.message, reason: 'InternalError', code: 500 }
  }
  if (result.code === 0) return { status: 'Success' }
  return {
    status: 'Failure',
    message: nonZeroText(result.code),
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(result.code) }] },
  }
}

/** Clients match on the prefix. */
function nonZeroText(code: number): string {
  return `command terminated with non-zero exit code: command terminated with exit code ${code}`
}

/** Parses the result of a server that sends a Status. */
export function parseResult(text: string): CommandResult {
  if (text === '') return { type: 'failed', message: 'the server closed the stream without a status' }
  const status = parse(text)
  if (status?.status === 'Success') return { type: 'exited', code: 0 }
  if (status?.status !== 'Failure') return { type: 'failed', message: text }
  if (status.reason === 'NonZeroExitCode') {
    const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')
    if (/^\d{1,9}$/.test(cause?.message ?? '')) return { type: 'exited', code: Number(cause?.message) }
  }
  return { type: 'failed', message: status.message ?? text }
}

function parse(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
