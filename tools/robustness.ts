/**
 * Runs clients of several kinds against real processes while faults are injected, records what they do and see, and
 * checks the history, as etcd's robustness tests and Jepsen do:
 *
 *     npm run robustness -- --minutes 20
 *     npm run robustness -- --minutes 20 --target etcd
 *     npm run robustness -- --check robustness-report/etcd-7/history.jsonl
 *
 * The simulation (`npm run simulate`) finds more in less time, but only with simulated machines; this finds what the
 * kernel, the disk, TLS and other programs add.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { UsageError } from '#/base/flags.ts'
import { checkHistory } from '#/simulation/history/check-history.ts'
import { readHistory } from './robustness/history-file.ts'
import { describeVerdict } from './robustness/report.ts'
import { help, readRequest } from './robustness/request.ts'
import { run } from './robustness/run.ts'

const isolatedVariable = 'K8TS_ROBUSTNESS_ISOLATED'

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(`robustness: ${error instanceof UsageError ? error.message : ((error as Error).stack ?? '')}`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function main(words: readonly string[]): Promise<number> {
  const request = readRequest(words, Date.now())
  switch (request.type) {
    case 'help':
      console.log(help)
      return 0
    case 'check': {
      const verdict = checkHistory(await readHistory(request.file))
      for (const line of describeVerdict(verdict)) console.log(line)
      return verdict.violations.length + verdict.undecided.length === 0 ? 0 : 1
    }
    case 'run': {
      const isIsolated = process.env[isolatedVariable] !== undefined
      if (!isIsolated && canIsolate()) return runIsolated(words)
      const interrupted = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort())
      return run(request, { isIsolated, print: console.log, signal: interrupted.signal })
    }
  }
}

/** Not even root may do it in every container. */
function canIsolate(): boolean {
  return process.getuid?.() === 0 && spawnSync('unshare', ['--net', '--mount', 'ip', 'link']).status === 0
}

/** In a mount and a network namespace of its own: what it mounts and connects goes with its last process. */
async function runIsolated(words: readonly string[]): Promise<number> {
  const self = [process.execPath, fileURLToPath(import.meta.url), ...words]
  const script = 'ip link set lo up && exec "$@"'
  const command = ['--pdeathsig', 'KILL', 'unshare', '--net', '--mount', 'sh', '-c', script, 'sh', ...self]
  const env = { ...process.env, [isolatedVariable]: '1' }
  const child = spawn('setpriv', command, { stdio: 'inherit', env })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  // A terminal sends it to the child, too.
  process.on('SIGINT', () => undefined)
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
