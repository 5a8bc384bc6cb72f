/** Runs a cluster in a background process, and shows its output until it is ready. */
import { join } from 'node:path'
import type { Terminal } from '#/command-line/command.ts'
import { connectHttp, nodePlatform, startDetached } from '#/platform/node.ts'
import { requestConsoleLink } from './console/console-record.ts'
import { dataFolder } from './data-folder.ts'

export interface RunDetachedOptions {
  /** Of this command. */
  readonly parameters: readonly string[]
  readonly flags: { readonly 'data-dir'?: string }
}

/** Resolves when the cluster is ready, or with 1 if it exited before. */
export async function runDetached(
  terminal: Terminal,
  { parameters, flags }: RunDetachedOptions,
): Promise<number> {
  const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
  const { files, clock } = platform
  const folder = dataFolder(flags)
  await files.makeFolder(folder, { mode: 0o700 })
  const output = join(folder, 'k8ts.log')
  // Keeps the log of the last run, and the file that is read repeatedly below small.
  if (await files.stat(output)) await files.rename(output, `${output}.old`)
  let shown = 0
  const rest = parameters.filter(word => !/^--detach(=|$)/.test(word))
  const child = await startDetached(['up', ...rest], output)
  let hasEnded = false
  let said = ''
  void child.exited.then(() => (hasEnded = true))
  for (;;) {
    const isLast = hasEnded
    const content = Buffer.from(await files.read(output))
    // The log was full and has been truncated.
    if (content.length < shown) shown = 0
    const news = content.subarray(shown)
    shown += news.length
    said += news.toString()
    terminal.write(news.toString())
    if (/^ready in .*\n/m.test(said)) {
      const link = await requestConsoleLink({ platform, connect: connectHttp, folder })
      if (link !== undefined) terminal.write(`console: ${link}\n`)
      terminal.write(`running in the background as process ${child.pid}, log: ${output}\n`)
      return 0
    }
    if (isLast) return 1
    await clock.sleep(pollMs)
  }
}

const pollMs = 50
