/**
 * Attacks a real API server, and a node with real containers, and shows what another client sees meanwhile. Everything
 * is on loopback. Exits with 1 if the server ended or the other client was refused.
 */
import { parseArgs } from 'node:util'
import { attacks } from './load/attacks.ts'
import { runContainerStorm } from './load/container-storm.ts'
import { runAttack, type AttackResult } from './load/run-attack.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scale: { type: 'string', default: '1' },
    settle: { type: 'string', default: '120' },
    help: { type: 'boolean', default: false },
  },
})

const stormMs = 60_000
/** Runs pods instead of requests. */
const containers = {
  about:
    'fork bomb, memory and disk hogs, log flood and exec storm in pods at once; needs root and containerd',
}
const abouts: Readonly<Record<string, { readonly about: string }>> = { ...attacks, containers }
const names = Object.keys(abouts)

const usage = `usage: npm run load -- [attack...] [--scale N] [--settle SECONDS]

attacks, all of them when none is given:
${names.map(name => `  ${name.padEnd(16)}${abouts[name]!.about}\n`).join('')}
  --scale N       share of the full attack, from 0 to 1
  --settle S      seconds before the memory of the server is measured, before and after each attack (120); 0 measures
                  only the peak

example:
  npm run load -- lists connections --scale 0.1
`

const chosen = positionals.length > 0 ? positionals : names
const unknown = chosen.filter(name => !names.includes(name))
const scale = Number(values.scale)
const settleMs = Number(values.settle) * 1_000

if (values.help) {
  process.stdout.write(usage)
} else if (unknown.length > 0 || !(scale > 0 && scale <= 1) || !(settleMs >= 0)) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  process.exitCode = (await runAll()) ? 0 : 1
}

async function runAll(): Promise<boolean> {
  const columns = [
    'attack',
    'p50',
    'p99',
    'longest',
    'refused',
    'block',
    'memory before, peak, after',
    'result',
  ]
  console.log(`| ${columns.join(' | ')} |\n${'|---'.repeat(columns.length)}|`)
  let isGood = true
  for (const name of chosen) {
    const attack = attacks[name]
    const result = await (attack === undefined
      ? runContainerStorm({ durationMs: stormMs * scale, settleMs })
      : runAttack(attack, { scale, settleMs }))
    console.log(rowOf(name, result))
    isGood &&= result.isAlive && result.refused === 0
  }
  return isGood
}

function rowOf(name: string, result: AttackResult): string {
  const { p50Ms, p99Ms, longestMs, refused, blockMs, blockCause, memory, outcome, isAlive } = result
  const times = [p50Ms, p99Ms, longestMs].map(ms => `${ms.toFixed(1)} ms`)
  const { beforeMb, peakMb, settledMb = NaN } = memory
  const sizes = [beforeMb, peakMb, settledMb].map(mb => (Number.isNaN(mb) ? '-' : `${Math.round(mb)} MB`))
  const end = isAlive ? outcome : `the server ended: ${outcome}`
  const block = `${blockMs.toFixed(0)} ms (${blockCause})`
  return `| ${[name, ...times, refused, block, sizes.join(', '), end].join(' | ')} |`
}
