/**
 * Runs the commands of README.md on minimal systems, as on a new machine: packages, `npm start` with an empty
 * npm cache, a Deployment with a Service on real containers, `k8ts down`. The duration of each step is
 * reported as a test diagnostic.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { exampleImages } from '../node/container-cluster.ts'
import { checkoutFolder, freshMachine } from './fresh-machine.ts'
import { home, type Machine } from './machine.ts'
import { mirrorOf, systems, type System } from './root-file-system.ts'

const needsRoot = process.getuid?.() === 0 ? false : 'a machine in namespaces needs root'

/** As in README.md. */
const prerequisites = 'apt-get install --no-install-recommends git npm'

const releases: readonly (readonly [system: System, containerd: RegExp])[] = [
  [systems.debian12, /containerd:\/\/1\.6\./],
  [systems.debian13, /containerd:\/\/1\.7\./],
  [systems.ubuntu2404, /containerd:\/\//],
]

for (const [system, containerd] of releases) {
  const mirror = needsRoot === false ? await mirrorOf(system) : undefined
  const skip = needsRoot || (mirror === undefined && `no apt source of this machine has ${system.origin}`)
  test(`the commands of README.md work on a minimal ${system.name}`, { skip }, async t => {
    const step = stepTimer(t)
    await using machine = await step('debootstrap', () => freshMachine(system, mirror!))
    await step(prerequisites, () => machine.run(`apt-get update && ${prerequisites} -y`))
    const nothing = await traces(machine)
    const program = machine.start('npm start', { workingFolder: checkoutFolder })
    const exited = once(program, 'exit')
    await step('npm start', () => isReady(program))
    const nodes = await kubectl(machine, 'get', 'nodes', '-o', 'wide')
    assert.match(nodes, / Ready .*/)
    assert.match(nodes, containerd)
    for (const [name, archive] of Object.entries(await exampleImages())) {
      await writeFile(join(machine.root, home, `${name}.tar`), archive)
      await machine.run(`./k8ts image load ${home}/${name}.tar`, { workingFolder: checkoutFolder })
    }
    await step('a Deployment with a Service', () => serveDeployment(machine))
    await step('k8ts down', () => machine.run('./k8ts down', { workingFolder: checkoutFolder }))
    await exited
    assert.deepEqual(await traces(machine), nothing)
  })
}

type Step = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>

function stepTimer(t: TestContext): Step {
  return async (name, work) => {
    const startedMs = performance.now()
    const result = await work()
    t.diagnostic(`${name}: ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`)
    return result
  }
}

/** Resolves when the ready line is printed; rejects with all output when the program exits before. */
async function isReady(program: ChildProcess): Promise<void> {
  let output = ''
  const ready = Promise.withResolvers<void>()
  for (const stream of [program.stdout!, program.stderr!]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (/^ready in .*\n/m.test(output)) ready.resolve()
    })
  }
  program.once('exit', code => ready.reject(new Error(`npm start ended with ${code}:\n${output}`)))
  await ready.promise
}

/** Uses the kubectl of the checkout. */
function kubectl(machine: Machine, ...words: readonly string[]): Promise<string> {
  const quoted = words.map(word => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ')
  const command = `KUBECONFIG=${home}/.k8ts/admin.conf ./kubectl ${quoted}`
  return machine.run(command, { workingFolder: checkoutFolder })
}

async function serveDeployment(machine: Machine): Promise<void> {
  await kubectl(machine, 'create', 'deployment', 'web', '--image=nginx:1.7.9', '--replicas=2')
  await kubectl(machine, 'expose', 'deployment', 'web', '--port=80')
  await kubectl(machine, 'rollout', 'status', 'deployment', 'web', '--timeout=120s')
  const client = ['run', 'client', '--image=busybox', '--image-pull-policy=IfNotPresent', '--restart=Never']
  await kubectl(machine, ...client, '--', 'sh', '-c', 'until wget -q -O- http://web; do sleep 1; done')
  await kubectl(machine, 'wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/client', '--timeout=60s')
  assert.equal(await kubectl(machine, 'logs', 'client'), 'it works\n')
  const address = await kubectl(machine, 'get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')
  assert.equal(await machine.runInNetwork(['wget', '-q', '-O-', `http://${address}/`]), 'it works\n')
}

/**
 * Everything that a cluster could leave behind. iptables tables remain after their last rule is deleted, so
 * only rules are compared.
 */
async function traces(machine: Machine): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = (text: string): readonly string[] =>
    text
      .split('\n')
      .filter(line => line.trim() !== '')
      .toSorted()
  const inside = async (command: string): Promise<readonly string[]> => lines(await machine.run(command))
  const links = await machine.runInNetwork(['ip', '-o', '-br', 'link'])
  const rules = await machine.runInNetwork(['nft', 'list', 'ruleset'])
  return {
    links: lines(links).map(line => line.split(/[ @]/)[0]!),
    tables: lines(rules).filter(line => line.includes('k8ts')),
    mounts: await inside('cut -d" " -f2 /proc/mounts'),
    processes: (await inside('cat /proc/[0-9]*/comm')).filter(name => !['sh', 'cat', 'sleep'].includes(name)),
    cgroups: await inside('find /sys/fs/cgroup -mindepth 2 -type d'),
    files: (
      await inside(`find ${home} /run /tmp -not -type d; find /var/lib/cni -not -type d 2>/dev/null || true`)
    ).filter(path => !new RegExp(`^${home}/(?:k8ts|\\.npm|\\.kube/cache|[a-z]*\\.tar)`).test(path)),
  }
}
