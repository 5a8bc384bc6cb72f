/** One attack on a fresh server, with another client beside it. */
import { spawn } from 'node:child_process'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { startApiServer, usageOf } from '../../bench/api/processes.ts'
import type { Attack } from './attacks.ts'
import type { OtherClientReport } from './other-client.ts'

export interface AttackResult extends OtherClientReport {
  readonly isAlive: boolean
  /** Most memory that the server had. */
  readonly memoryMb: number
  readonly outcome: string
}

const memoryIntervalMs = 100

export async function runAttack(attack: Attack, scale: number): Promise<AttackResult> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'k8ts-load-'))
  const heap = attack.heapMb === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${attack.heapMb}` }
  await using server = await startApiServer(temporary.path, { ...process.env, ...heap })
  await attack.prepare?.(server.target, scale)
  let memoryMb = 0
  const measuring = setInterval(() => {
    memoryMb = Math.max(memoryMb, memoryOf(server.pid) ?? 0)
  }, memoryIntervalMs)
  const other = startOtherClient(join(temporary.path, 'admin.conf'))
  const outcome = await attack.run(server.target, scale)
  const report = await other.stop()
  clearInterval(measuring)
  return { ...report, outcome, memoryMb, isAlive: memoryOf(server.pid) !== undefined }
}

function startOtherClient(kubeconfig: string) {
  const program = join(import.meta.dirname, 'other-client.ts')
  const child = spawn(process.execPath, [program, kubeconfig], { stdio: ['pipe', 'pipe', 'inherit'] })
  const printed = text(child.stdout)
  return {
    stop: async (): Promise<OtherClientReport> => {
      child.stdin.end()
      return JSON.parse(await printed) as OtherClientReport
    },
  }
}

/** Undefined if the process has ended. */
function memoryOf(pid: number): number | undefined {
  try {
    return usageOf(pid).memoryMb
  } catch {
    return undefined
  }
}
