/**
 * Keeps a cluster with real containers busy for hours and samples what its processes hold:
 *
 *     npm run soak -- --minutes 120
 *
 * Exits with 1 if memory, descriptors or threads grow, or if a request fails.
 */
import { readFileSync } from 'node:fs'
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { LastingCluster } from '../tests/node/lasting-cluster.ts'
import { SoakLoad } from './soak/load.ts'
import { growthOf, plotSamples, type Sample } from './soak/report.ts'
import { ProcessSampler } from './soak/sample.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    writes: { type: 'string', default: '50' },
    report: { type: 'string', default: 'soak-report' },
    help: { type: 'boolean', default: false },
  },
})

const usage = `usage: npm run soak -- [--minutes N] [--writes N] [--report FOLDER]

  --minutes N       duration, 120 by default
  --writes N        writes a second, 50 by default
  --report FOLDER   receives samples.jsonl and the plot, soak-report by default
`

const sampleMs = 60_000
const [minutes, writesPerSecond] = [Number(values.minutes), Number(values.writes)]

if (values.help) {
  process.stdout.write(usage)
} else if (!(minutes >= 1 && writesPerSecond > 0)) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  process.exitCode = (await soak(values.report)) ? 0 : 1
}

async function soak(folder: string): Promise<boolean> {
  await mkdir(folder, { recursive: true })
  const samplesFile = join(folder, 'samples.jsonl')
  await writeFile(samplesFile, '')
  await using stack = new AsyncDisposableStack()
  const cluster = await LastingCluster.start({ after: end => stack.defer(end as () => Promise<void>) })
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  const load = new SoakLoad(cluster, { writesPerSecond })
  const working = load.run(stop.signal)
  const containerd = Number(readFileSync(join(cluster.folders.containerd, 'containerd.pid'), 'utf8'))
  const samplers = { k8ts: new ProcessSampler(cluster.processId), containerd: new ProcessSampler(containerd) }
  const samples: Sample[] = []
  while (samples.length < minutes && !stop.signal.aborted) {
    await sleep(sampleMs, undefined, { signal: stop.signal }).catch(() => undefined)
    if (stop.signal.aborted) break
    const processes = { k8ts: samplers.k8ts.sample(), containerd: samplers.containerd.sample() }
    const sample: Sample = { minute: samples.length + 1, processes, counts: load.counts() }
    samples.push(sample)
    await appendFile(samplesFile, `${JSON.stringify(sample)}\n`)
    console.log(describe(sample))
  }
  stop.abort()
  await working
  const plot = plotSamples(samples)
  await writeFile(join(folder, 'plot.txt'), plot)
  console.log(plot)
  const growth = growthOf(samples)
  for (const line of growth) console.log(line)
  return growth.length === 0 && load.counts().failures === 0
}

function describe({ minute, processes, counts }: Sample): string {
  const each = Object.entries(processes).map(([name, usage]) => {
    const { memoryMb, descriptors, threads, cpuPercent } = usage
    return `${name} ${memoryMb.toFixed(0)} MB ${descriptors} descriptors ${threads} threads ${cpuPercent.toFixed(1)} %`
  })
  const done = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  return `${String(minute).padStart(4)} min: ${each.join(', ')}; ${done.join(', ')}`
}
