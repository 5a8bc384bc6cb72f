/**
 * Benchmarks scheduling: the scheduling cycle alone, and from pod creation to binding with the API server and
 * the scheduler in one process.
 *
 *     npm run bench -- scheduler [--nodes 100,1000,5000] [--pods 2000] [--workload plain,preemption]
 */
import { parseArgs } from 'node:util'
import { scheduleAlone } from './scheduler/cycle-alone.ts'
import { benchPodBinding } from './scheduler/whole-cluster.ts'
import { workloads } from './scheduler/workloads.ts'

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100,1000,5000' },
    pods: { type: 'string', default: '2000' },
    workload: { type: 'string', default: workloads.map(({ name }) => name).join() },
  },
})

const wanted = values.workload.split(',')
const nodeCounts = values.nodes.split(',').map(Number)

console.log('workload                  nodes   pods   cycle alone      with API server')
for (const workload of workloads.filter(({ name }) => wanted.includes(name))) {
  for (const nodeCount of nodeCounts) {
    const podCount = Math.min(Number(values.pods), workload.podsMax?.(nodeCount) ?? Infinity)
    const aloneMs = await scheduleAlone(workload, nodeCount, podCount)
    const { podsPerSecond, cpuMsPerPod } = await benchPodBinding(workload, nodeCount, podCount)
    console.log(
      [
        workload.name.padEnd(24),
        String(nodeCount).padStart(6),
        String(podCount).padStart(6),
        `${aloneMs.toFixed(3)} ms CPU`.padStart(13),
        `${Math.round(podsPerSecond)} pods/s, ${cpuMsPerPod.toFixed(2)} ms CPU`.padStart(27),
      ].join(' '),
    )
  }
}
