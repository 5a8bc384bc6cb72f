/** Changes of links, addresses, routes and neighbours with one call of `ip` or `bridge`. */
import type { Linux } from '#/platform/linux.ts'

export interface IpBatch {
  readonly program: 'ip' | 'bridge'
  readonly lines: readonly string[]
  /** Of the error message: `cannot change SUBJECT`. */
  readonly subject: string
  readonly signal?: AbortSignal | undefined
}

/** An error names no more commands. */
const reportedCommandsMax = 5

/** The kernel may refuse a line, e.g. with IPv6 disabled: the others are still written, and the error is returned. */
export async function writeIpBatch(
  linux: Pick<Linux, 'run'>,
  { program, lines, subject, signal }: IpBatch,
): Promise<Error | undefined> {
  if (lines.length === 0) return undefined
  try {
    const stdin = `${lines.join('\n')}\n`
    await linux.run([program, '-force', '-batch', '-'], signal ? { stdin, signal } : { stdin })
    return undefined
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause)
    const failed = [...text.matchAll(/Command failed -:(\d+)/g)].map(([, line]) => lines[Number(line) - 1])
    const commands = (failed.length > 0 ? failed : lines).slice(0, reportedCommandsMax)
    return new Error(`cannot change ${subject}: ${program} ${commands.join(', ')}`, { cause })
  }
}
