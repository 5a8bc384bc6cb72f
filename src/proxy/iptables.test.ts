import assert from 'node:assert/strict'
import test from 'node:test'
import type { Service, ServiceSpec } from '#/api/generated/core/v1.ts'
import type { Linux } from '#/platform/linux.ts'
import { Simulation } from '#/platform/simulated.ts'
import { ChainNames } from './iptables/chain-names.ts'
import { IptablesRules, removeIptablesRules } from './iptables.ts'
import { planService } from './plan.ts'
import type { ProxyNetwork } from './proxier.ts'
import { service, slice } from './test-services.ts'

const network: ProxyNetwork = {
  table: 'k8ts0-proxy',
  families: [4],
  podCidrs: ['10.244.0.0/16'],
  serviceCidrs: ['10.96.0.0/16'],
  nodeAddresses: ['10.214.0.1'],
}

/** A fake kernel: records transactions, and rejects the next one when `refuses` is set. */
class Transactions implements Pick<Linux, 'run'> {
  readonly texts: string[] = []
  /** What `iptables-save` prints of the cluster. */
  known = 'nat\nfilter\n'
  refuses = false

  async run(command: readonly string[], options: { readonly stdin?: string } = {}): Promise<string> {
    if (command[0] === 'sh') return this.known
    if (this.refuses) {
      this.refuses = false
      throw new Error('iptables-restore: line 2 failed')
    }
    this.texts.push(options.stdin ?? '')
    return ''
  }

  take(): string {
    return this.texts.splice(0).join('')
  }
}

class World {
  readonly kernel = new Transactions()
  readonly rules: IptablesRules
  nowMs = 0

  constructor() {
    const { log } = new Simulation({ seed: 1 }).host('node')
    this.rules = new IptablesRules({ linux: this.kernel, log, network })
  }

  /** Returns what is written for a change of a service; endpoints in the notation of `slice`. */
  async change(of: Service | undefined, ...endpoints: string[]): Promise<readonly string[]> {
    const node = { name: 'a', zone: '' }
    const slices = [slice(endpoints)]
    this.rules.set('shop/web', of ? planService({ service: of, slices, node, families: [4] }).ports : [])
    return this.apply()
  }

  async apply(): Promise<readonly string[]> {
    await this.rules.apply(this.nowMs, new AbortController().signal)
    return readable(this.kernel.take())
  }
}

/** Replaces the hashes of names by letters, in the order in which they appear. */
function readable(text: string): readonly string[] {
  const letters = new Map<string, string>()
  const named = text.replaceAll(/(?<=-(SVC|SVL|EXT|FW|SEP)-)[0-9A-V]{16}/g, hash => {
    const letter = letters.get(hash) ?? 'abcdefgh'[letters.size]!
    letters.set(hash, letter)
    return letter
  })
  return named.split('\n').filter(line => line !== '' && !line.startsWith('-C '))
}

const to80 = '-d 10.96.0.5 -p tcp -m tcp --dport 80'
const comment = '-m comment --comment "shop/web/tcp/http"'

test('only changed chains are written', async () => {
  const world = new World()
  const first = await world.change(service({}))
  assert(first.includes(':KUBE0-SERVICES - [0:0]'))
  assert(first.includes(`-A KUBE0-SERVICES ${to80} ${comment} -j KUBE0-REJECT`))
  assert(first.some(line => line.startsWith('-I PREROUTING 1 ')))
  assert.deepEqual(await world.change(service({})), [])
  assert.deepEqual(await world.change(service({}), '10.244.1.1@b'), [
    '*filter',
    `-D KUBE0-SERVICES ${to80} ${comment} -j KUBE0-REJECT`,
    'COMMIT',
    '*nat',
    ':KUBE0-SEP-a - [0:0]',
    ':KUBE0-SVC-b - [0:0]',
    '-A KUBE0-SEP-a -s 10.244.1.1 -j KUBE0-MARK-MASQ',
    '-A KUBE0-SEP-a -p tcp -m tcp -j DNAT --to-destination 10.244.1.1:8080',
    `-A KUBE0-SVC-b ${to80} -j KUBE0-MARK-FOREIGN`,
    '-A KUBE0-SVC-b -j KUBE0-SEP-a',
    `-I KUBE0-SERVICES 1 ${to80} ${comment} -j KUBE0-SVC-b`,
    'COMMIT',
  ])
  assert.deepEqual(await world.change(service({}), '10.244.1.1@b', '10.244.1.2@b'), [
    '*filter',
    'COMMIT',
    '*nat',
    ':KUBE0-SEP-a - [0:0]',
    ':KUBE0-SVC-b - [0:0]',
    '-A KUBE0-SEP-a -s 10.244.1.2 -j KUBE0-MARK-MASQ',
    '-A KUBE0-SEP-a -p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080',
    `-A KUBE0-SVC-b ${to80} -j KUBE0-MARK-FOREIGN`,
    '-A KUBE0-SVC-b -m statistic --mode random --probability 0.5000000000 -j KUBE0-SEP-c',
    '-A KUBE0-SVC-b -j KUBE0-SEP-a',
    'COMMIT',
  ])
})

test('an unused chain is emptied, and deleted later', async () => {
  const world = new World()
  await world.change(service({}), '10.244.1.1@b', '10.244.1.2@b')
  const emptied = await world.change(service({}), '10.244.1.1@b')
  assert.deepEqual(
    emptied.filter(line => line.startsWith(':')),
    [':KUBE0-SEP-a - [0:0]', ':KUBE0-SVC-b - [0:0]'],
  )
  assert(!emptied.some(line => line.startsWith('-A KUBE0-SEP-a')))
  assert.equal(world.rules.nextApplyMs, 1_000)
  world.nowMs = 1_000
  assert.deepEqual(await world.apply(), ['*nat', '-X KUBE0-SEP-a', 'COMMIT'])
  assert.equal(world.rules.nextApplyMs, undefined)
})

test('session affinity, source ranges and the policy Local', async () => {
  const world = new World()
  await world.change(undefined)
  const spec: ServiceSpec = {
    type: 'LoadBalancer',
    ports: [{ name: 'http', port: 80, nodePort: 30_080 }],
    loadBalancerSourceRanges: ['203.0.113.0/24'],
    externalTrafficPolicy: 'Local',
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
  }
  const written = await world.change(service(spec, ['192.0.2.20']), '10.244.1.1@a')
  const rules = (chain: string): readonly string[] =>
    written
      .filter(line => new RegExp(`^-[AI] KUBE0-${chain}`).test(line))
      .map(line => line.replace(/^(-A \S+|-I \S+ 1) /, ''))
  const toBalancer = '-d 192.0.2.20 -p tcp -m tcp --dport 80'
  const [fw = ''] = rules('FW-')
  const local = '-m addrtype --src-type LOCAL'
  assert.match(fw, /^-s 203\.0\.113\.0\/24 -j KUBE0-EXT-[a-h]$/)
  assert.deepEqual(rules('PROXY-FIREWALL'), [`${toBalancer} ${comment} -j DROP`])
  assert.deepEqual(rules('NODEPORTS'), [`-p tcp -m tcp --dport 30080 ${comment} -j ${fw.split(' ').at(-1)}`])
  const [svc] = rules('EXT-').map(rule => rule.split(' ').at(-1))
  assert.deepEqual(rules('EXT-').slice(0, 3), [
    `-s 10.244.0.0/16 -j ${svc}`,
    `${local} -j KUBE0-MARK-MASQ`,
    `${local} -j ${svc}`,
  ])
  assert.match(rules('EXT-')[3] ?? '', /^-j KUBE0-SVL-[a-h]$/)
  const [, known = '', chance] = rules('SVC-')
  const sep = /KUBE0-SEP-[a-h]/.exec(known)?.[0]
  assert.equal(known, `-m recent --name ${sep} --rcheck --seconds 60 --reap --rsource -j ${sep}`)
  assert.equal(chance, `-j ${sep}`)
  assert.equal(
    rules('SEP-')[1],
    `-m recent --name ${sep} --set --rsource -p tcp -m tcp -j DNAT --to-destination 10.244.1.1:8080`,
  )
})

test('when iptables rules were modified all are written, and what else there is is deleted', async () => {
  const world = new World()
  await world.change(service({}), '10.244.1.1@b')
  world.kernel.refuses = true
  world.kernel.known =
    'nat\n:KUBE0-SVC-ABCDEFGHIJKLMNOP - [0:0]\n:KUBE0-SERVICES - [0:0]\n-A OUTPUT -j KUBE0-SERVICES\nfilter\n'
  const whole = await world.change(service({}), '10.244.1.1@b', '10.244.1.2@b')
  assert(whole.includes('-D OUTPUT -j KUBE0-SERVICES'))
  assert(whole.some(line => /^-X KUBE0-SVC-[a-h]$/.test(line)))
  assert(whole.includes(':KUBE0-MARK-MASQ - [0:0]'))
})

test('the removal deletes jumps before chains, and nothing where there is none', async () => {
  const { kernel } = new World()
  await removeIptablesRules(kernel, network.table)
  assert.equal(kernel.take(), '')
  kernel.known =
    'nat\n:KUBE0-SERVICES - [0:0]\n-A OUTPUT -m comment --comment "a b" -j KUBE0-SERVICES\nfilter\n'
  await removeIptablesRules(kernel, network.table)
  const text =
    '*nat\n:KUBE0-SERVICES - [0:0]\n-D OUTPUT -m comment --comment "a b" -j KUBE0-SERVICES\n-X KUBE0-SERVICES\nCOMMIT\n'
  assert.equal(kernel.take(), text + text)
})

test('many chains are written by several calls, those that are jumped to first', async () => {
  const world = new World()
  const addresses = Array.from({ length: 1_500 }, (_, index) => `10.244.${index >> 8}.${index & 255}@b`)
  const node = { name: 'a', zone: '' }
  const { ports } = planService({ service: service({}), slices: [slice(addresses)], node, families: [4] })
  world.rules.set('shop/web', ports)
  await world.rules.apply(0, new AbortController().signal)
  const texts = world.kernel.texts.splice(0)
  const counts = texts.map(text => [...text.matchAll(/^:KUBE0-(SEP|SVC)-/gm)].length)
  assert.deepEqual(counts, [0, 1_000, 501])
  assert.match(texts[0]!, /^:KUBE0-MARK-MASQ/m)
  assert.match(texts[2]!, /^:KUBE0-SVC-[^]*^:KUBE0-SERVICES/m)
})

test('names of chains are unique for each cluster of a machine, and short enough', () => {
  const [plan] = planService({
    service: service({}),
    slices: [slice(['10.244.1.1@b'])],
    node: { name: 'a', zone: '' },
    families: [4],
  }).ports
  const endpoint = plan!.endpoints.cluster[0]!
  const namesOf = (table: string): readonly string[] => {
    const names = new ChainNames(table)
    const all = [
      names.fixed('EXTERNAL-SERVICES'),
      names.hashed('SVC', plan!),
      names.endpoint(plan!, endpoint),
    ]
    for (const name of all) {
      assert(name.length <= 28, name)
      assert.match(name, new RegExp(`^${names.pattern}$`))
    }
    return all
  }
  const tables = ['k8ts-proxy', 'k8ts0-proxy', 'k8ts15-proxy', 'k8ts0-2-proxy', 'other-proxy']
  const all = tables.flatMap(namesOf)
  assert.equal(new Set(all).size, all.length)
  assert.equal(all[0], 'KUBE-EXTERNAL-SERVICES')
  assert.doesNotMatch('KUBE-KUBELET-CANARY', new RegExp(`^${new ChainNames('k8ts-proxy').pattern}$`))
})
