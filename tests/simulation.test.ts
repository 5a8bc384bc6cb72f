/** Tests across processes: the simulation is deterministic regardless of the process it runs in. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'

const root = resolve(import.meta.dirname, '..')
const script = `
  import { runThreeLoops } from '#/simulation/three-loops.ts'
  const { traceHash, violations } = await runThreeLoops(42)
  console.log(JSON.stringify({ traceHash, violations }))
`

test('one seed gives one trace in ten processes with different hash seeds, time zones and locales', async () => {
  const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => runChild(index)))
  assert.deepEqual(
    outcomes,
    Array.from({ length: 10 }, () => outcomes[0]),
  )
  assert.match(outcomes[0] ?? '', /^\{"traceHash":"[0-9a-f]{64}","violations":\[\]\}\n$/)
})

async function runChild(index: number): Promise<string> {
  const seeds = [`--hash-seed=${index + 1}`, `--random-seed=${index + 1}`]
  const parameters = [...seeds, '--input-type=module-typescript', '--eval', script]
  const timeZone = index % 2 === 0 ? 'Asia/Kathmandu' : 'America/St_Johns'
  const language = index % 3 === 0 ? 'tr_TR.UTF-8' : 'C'
  const env = { ...process.env, TZ: timeZone, LC_ALL: language }
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { cwd: root, env })
  return stdout
}
