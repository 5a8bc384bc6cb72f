/**
 * A process of its own that reads a namespace again and again until its standard input ends, and then prints how long
 * that took.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readTarget } from '../../bench/api/processes.ts'
import { Session } from './session.ts'

export interface OtherClientReport {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
  /** Requests without a 200. */
  readonly refused: number
}

const pauseMs = 10

const ended = new Promise<'ended'>(resolve => process.stdin.resume().once('end', () => resolve('ended')))
const path = '/api/v1/namespaces/default'
const times: number[] = []
let refused = 0
let session = new Session(readTarget(process.argv[2]!))
while ((await Promise.race([ended, sleep(pauseMs)])) !== 'ended') {
  const { status, ms } = await session.ask({ path })
  times.push(ms)
  if (status === 200) continue
  refused++
  session[Symbol.dispose]()
  session = new Session(readTarget(process.argv[2]!))
}
session[Symbol.dispose]()
times.sort((left, right) => left - right)
const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
const report: OtherClientReport = { p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1), refused }
console.log(JSON.stringify(report))
