/**
 * Runs a simulation from seeds, in one process per CPU: that of the control plane, that of the embedded store on a disk
 * with faults, that of the etcd store on a cluster with faults, or that of API servers whose clients record a history.
 *
 * Prints each seed for which a checker found a violation, and exits with 1 if there was one.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { controllersOf } from '#/controllers/controllers.ts'
import { simulateApiHistory } from '#/simulation/api-history.ts'
import { simulateControlPlane } from '#/simulation/control-plane.ts'
import { simulateFaultyStore } from '#/simulation/durable-store.ts'
import { simulateEtcdStore } from '#/simulation/etcd-store.ts'

const { values } = parseArgs({
  options: {
    simulation: { type: 'string', default: 'control-plane' },
    seed: { type: 'string' },
    from: { type: 'string', default: '0' },
    count: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '1000000' },
    step: { type: 'string' },
    trace: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const usage = `usage: npm run simulate -- [flags]

  --simulation NAME   control-plane (default), store, etcd-store or history
  --seed N            one seed, with its trace
  --trace KIND/NAMESPACE/NAME
                      with --seed: what the last change of this object caused, as by k8ts trace; control-plane only
  --from N --count N  seeds; 0 and 100 when absent
  --minutes N         ends after this time

examples:
  npm run simulate -- --seed 17
  npm run simulate -- --seed 17 --trace deployment/default/a
  npm run simulate -- --count 10000 --minutes 20
  npm run simulate -- --simulation store --count 10000
`

const simulations: Readonly<Record<string, (seed: number) => Promise<Verdict>>> = {
  'control-plane': seed => simulateControlPlane(seed, { controllers: controllersOf() }),
  'store': seed => simulateFaultyStore(seed),
  'etcd-store': seed => simulateEtcdStore(seed),
  'history': seed => simulateApiHistory(seed),
}

interface Verdict {
  readonly traceHash: string
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  readonly traceOf?: (object: string) => string | undefined
}

const simulate = simulations[values.simulation]
if (simulate === undefined)
  throw new Error(`--simulation ${values.simulation}: not one of ${Object.keys(simulations).join(', ')}`)

const endMs = performance.now() + wholeNumber('minutes', values.minutes) * 60_000

if (values.help) process.stdout.write(usage)
else if (values.seed !== undefined)
  process.exitCode = (await replay(wholeNumber('seed', values.seed))) ? 0 : 1
else if (values.step !== undefined) await runEach(wholeNumber('step', values.step))
else process.exitCode = (await runInProcesses()) ? 0 : 1

async function replay(seed: number): Promise<boolean> {
  const { trace, violations, traceHash, traceOf } = await simulate!(seed)
  for (const line of trace) if (!line.endsWith(': timer')) console.log(line)
  console.log(`seed ${seed}: trace ${traceHash}`)
  for (const violation of violations) console.log(violation)
  const { trace: object } = values
  if (object !== undefined) console.log(traceOf?.(object) ?? `no change of ${object} is recorded`)
  return violations.length === 0
}

/** The result of a child process. */
interface Tally {
  readonly ran: number
  readonly failed: number
}

/** Runs every `step`th seed. */
async function runEach(step: number): Promise<void> {
  const from = wholeNumber('from', values.from)
  const count = wholeNumber('count', values.count)
  let [ran, failed] = [0, 0]
  for (let seed = from; seed < from + count && performance.now() < endMs; seed += step) {
    const violations = await violationsOf(seed)
    ran++
    if (violations.length === 0) continue
    failed++
    console.log(`seed ${seed}\n${violations.map(violation => `  ${violation}`).join('\n')}`)
  }
  const tally: Tally = { ran, failed }
  process.send?.(tally)
}

/** A simulation that fails has found something, too. */
async function violationsOf(seed: number): Promise<readonly string[]> {
  try {
    return (await simulate!(seed)).violations
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)]
  }
}

async function runInProcesses(): Promise<boolean> {
  const processes = availableParallelism()
  const from = wholeNumber('from', values.from)
  const count = wholeNumber('count', values.count)
  const startedMs = performance.now()
  const tallies = await Promise.all(
    Array.from({ length: processes }, (_, index) => {
      const { minutes, simulation } = values
      const share = { from: from + index, count: Math.max(0, count - index), step: processes }
      const parameters = { ...share, minutes, simulation }
      return runInProcess(Object.entries(parameters).flatMap(([name, value]) => [`--${name}`, String(value)]))
    }),
  )
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  const ran = tallies.reduce((sum, tally) => sum + tally.ran, 0)
  const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
  console.log(
    `${ran} seeds from ${from} in ${seconds} s: ${failed === 0 ? 'nothing found' : `${failed} failed`}`,
  )
  return failed === 0
}

/** A process that crashes counts as failed. */
function runInProcess(flags: readonly string[]): Promise<Tally> {
  // Most objects of a seed are garbage when it ends: a larger young generation saves a tenth of the time.
  const execArgv = ['--max-semi-space-size=64']
  const child = fork(fileURLToPath(import.meta.url), flags, { execArgv })
  return new Promise(resolve => {
    child.once('message', tally => resolve(tally as Tally))
    child.once('exit', (code, signal) => {
      if (code !== 0) console.log(`a process with ${flags.join(' ')} ended with ${signal ?? code}`)
      resolve({ ran: 0, failed: 1 })
    })
  })
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} ${text}: not a whole number`)
  return Number(text)
}
