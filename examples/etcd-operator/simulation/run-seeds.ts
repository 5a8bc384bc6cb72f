/**
 * Runs the simulation from many seeds, and prints those with a violation:
 *
 *     node --conditions=k8ts-source examples/etcd-operator/simulation/run-seeds.ts [FROM] [COUNT]
 */
import { simulateEtcdOperator } from './simulate-etcd-operator.ts'

const [from = 0, count = 1_000] = process.argv.slice(2).map(Number)
let failed = 0
for (let seed = from; seed < from + count; seed++) {
  const { violations, trace } = await simulateEtcdOperator(seed)
  if (violations.length === 0) continue
  failed++
  console.log([`seed ${seed}`, ...trace, ...violations].join('\n  '))
}
console.log(`${count} seeds from ${from}: ${failed} with violations`)
process.exitCode = failed === 0 ? 0 : 1
