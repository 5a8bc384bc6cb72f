import { messageOf } from '#/base/message-of.ts'
import type { Factory } from '../factory.ts'
import { logSources } from '../logs/log-sources.ts'
import { printLogs } from '../logs/print-logs.ts'
import { attachToPod, type AttachOptions } from './attach-to-pod.ts'

/** As `attachToPod`; prints the log of the container if that fails. */
export async function attachOrPrintLog(factory: Factory, options: AttachOptions): Promise<void> {
  try {
    await attachToPod(factory, options)
  } catch (error) {
    const { name } = options.pod.metadata
    const text = `couldn't attach to pod/${name}, falling back to streaming logs: ${messageOf(error)}`
    factory.machine.streams.stderr.write(`warning: ${text}\n`)
    await printPodLog(factory, options)
  }
}

/** Prints what the container has printed so far. */
export async function printPodLog(
  factory: Factory,
  { pod, container = '', quiet }: Pick<AttachOptions, 'pod' | 'container' | 'quiet'>,
): Promise<void> {
  const warn = (text: string): void => factory.machine.streams.stderr.write(`${text}\n`)
  const sources = logSources([pod], { container, allContainers: false, warn, quiet })
  await printLogs(factory, sources, {
    query: {},
    follow: false,
    prefix: false,
    ignoreErrors: false,
    retryMs: 0,
  })
}
