/** Metrics of a node with real containers: kubelet, cAdvisor, service proxy and DNS. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { ownKubectl } from '../clients/kubectl/session.ts'
import { waitUntil } from '../wait-until.ts'
import { containerCluster } from './container-cluster.ts'
import { containersMissing } from './test-containerd.ts'

const skip = containersMissing

const run = promisify(execFile)

/** Uses the CPU, and sends to a service and to itself. */
const busy =
  'i=0; while true; do i=$((i+1)); [ $((i % 20000)) = 0 ] && wget -q -O- http://web/ >/dev/null; done'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Parses the text format; fails for lines that are not valid, and for families that come twice. */
function parse(text: string): readonly Sample[] {
  const families = new Set<string>()
  return text.split('\n').flatMap(line => {
    if (line === '') return []
    const [, family] = /^# TYPE (\S+) (?:counter|gauge|histogram)$/.exec(line) ?? []
    if (family !== undefined) {
      assert.ok(!families.has(family), `${family} comes twice`)
      families.add(family)
    }
    if (line.startsWith('#')) return []
    const [, name = '', pairs = '', value = ''] =
      /^(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?$/.exec(line) ?? assert.fail(line)
    const labels = [...pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, label, text_]) => [label, text_] as const,
    )
    const shown = value.replace('Inf', 'Infinity')
    assert.ok(shown === 'NaN' || !Number.isNaN(Number(shown)), line)
    return [{ name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(shown) }]
  })
}

describe('metrics of a node', { skip }, async () => {
  if (skip) return
  const { folder } = await containerCluster()
  const environment = { ...process.env, KUBECONFIG: join(folder, 'admin.conf') }
  const kubectl = async (...words: readonly string[]): Promise<string> =>
    (await run(ownKubectl, [...words], { env: environment, maxBuffer: 64 * 1024 ** 2 })).stdout
  const node = (await kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}')).trim()
  const address = await kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[0].address}')
  const scrape = async (path: string): Promise<readonly Sample[]> =>
    parse(await kubectl('get', '--raw', `/api/v1/nodes/${node}/proxy${path}`))
  const fetchFrom = async (port: number, path: string): Promise<string> =>
    (await run('wget', ['-q', '-O-', `http://${address}:${port}${path}`])).stdout
  await waitUntil(() =>
    kubectl('get', 'serviceaccount', 'default').then(
      () => true,
      () => false,
    ),
  )
  await kubectl('run', 'web', '--image=nginx:1.7.9', '--port=80', '--expose')
  const overrides = JSON.stringify({
    spec: {
      containers: [
        {
          name: 'busy',
          image: 'busybox:latest',
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', busy],
          resources: { limits: { cpu: '100m', memory: '64Mi' } },
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
        },
      ],
    },
  })
  await kubectl('run', 'busy', '--image=busybox:latest', `--overrides=${overrides}`)
  await kubectl('wait', '--for=condition=Ready', 'pod/busy', 'pod/web', '--timeout=120s')

  test('cAdvisor metrics show CPU, memory, limits and network of a busy container', async () => {
    const of = (samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>>) =>
      samples.filter(
        sample =>
          sample.name === name &&
          Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )
    const one = (
      samples: readonly Sample[],
      name: string,
      labels: Readonly<Record<string, string>>,
    ): number => {
      const found = of(samples, name, labels)
      assert.equal(found.length, 1, `${name} ${JSON.stringify(labels)}: ${found.length}`)
      return found[0]!.value
    }
    const main = { pod: 'busy', container: 'busy', namespace: 'default' }
    const cpu = 'container_cpu_usage_seconds_total'
    const received = 'container_network_receive_bytes_total'
    const first = await scrape('/metrics/cadvisor')
    const before = one(first, cpu, main)
    let samples = first
    await waitUntil(async () => {
      samples = await scrape('/metrics/cadvisor')
      return (
        one(samples, cpu, main) > before + 0.5 &&
        one(samples, received, { pod: 'busy', interface: 'eth0' }) > 1_000
      )
    })
    const machine = { id: '/' }
    assert.ok(one(samples, cpu, machine) > one(samples, cpu, main))
    const workingSet = one(samples, 'container_memory_working_set_bytes', main)
    assert.ok(workingSet > 10_000 && workingSet <= 64 * 1024 ** 2, String(workingSet))
    assert.equal(one(samples, 'container_spec_memory_limit_bytes', main), 64 * 1024 ** 2)
    assert.equal(one(samples, 'container_spec_cpu_quota', main), 10_000)
    assert.ok(one(samples, 'container_cpu_cfs_throttled_periods_total', main) > 0)
    assert.ok(one(samples, 'container_processes', main) >= 1)
    const [row] = of(samples, 'container_memory_rss', main)
    assert.match(
      row?.labels['id'] ?? '',
      /\/kubepods\/burstable\/pod[^/]+\/[0-9a-f]{64}$|\/kubepods\/pod[^/]+\/[0-9a-f]{64}$/,
    )
    assert.match(row?.labels['image'] ?? '', /busybox/)
    assert.match(row?.labels['name'] ?? '', /^[0-9a-f]{64}$/)
    const sandboxes = of(samples, received, { pod: 'busy' })
    assert.deepEqual(
      sandboxes.map(({ labels }) => labels['container']),
      [''],
    )
    assert.match(sandboxes[0]?.labels['image'] ?? '', /pause/)
    assert.ok(of(samples, cpu, { pod: 'busy', container: '', image: '' }).length === 1, 'the pod has a row')
    assert.ok(of(samples, 'container_spec_memory_limit_bytes', machine)[0]!.value > 1e8)
    assert.ok(one(samples, 'machine_memory_bytes', {}) > 1e8)
    assert.equal(one(samples, 'container_scrape_error', {}), 0)
  })

  test('the kubelet has metrics of pods, the runtime, probes and health', async () => {
    const samples = await scrape('/metrics')
    const value = (name: string, labels: Readonly<Record<string, string>> = {}): number =>
      samples.find(
        sample =>
          sample.name === name &&
          Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
      )?.value ?? NaN
    assert.equal(value('kubelet_node_name', { node }), 1)
    assert.equal(value('kubelet_running_pods'), 2)
    assert.equal(value('kubelet_running_containers', { container_state: 'running' }), 2)
    assert.equal(value('kubelet_started_containers_total', { container_type: 'container' }), 2)
    assert.equal(value('kubelet_pod_start_sli_duration_seconds_count'), 2)
    assert.ok(value('kubelet_pod_start_sli_duration_seconds_sum') < 200)
    assert.ok(value('kubelet_pleg_relist_duration_seconds_count') > 0)
    assert.ok(value('kubelet_cgroup_manager_duration_seconds_count', { operation_type: 'create' }) > 0)
    assert.ok(value('kubelet_certificate_manager_server_ttl_seconds') > 3_600)
    assert.ok(value('kubelet_node_startup_post_registration_duration_seconds') >= 0)
    assert.ok(value('kubelet_http_requests_total', { path: 'metrics/cadvisor', long_running: 'false' }) > 0)
    assert.ok(value('process_resident_memory_bytes') > 1e7)
    assert.ok(value('rest_client_requests_total', { code: '200', method: 'PATCH' }) > 0, 'node status')
    const probes = await scrape('/metrics/probes')
    assert.ok(probes.some(({ name, labels }) => name === 'prober_probe_total' && labels['pod'] === 'busy'))
    const resources = await scrape('/metrics/resource')
    assert.ok(resources.some(({ name }) => name === 'node_swap_usage_bytes'))
    await kubectl('get', '--raw', `/api/v1/nodes/${node}/proxy/healthz`)
    const health = await scrape('/metrics/slis')
    assert.ok(
      health.some(({ name, labels }) => name === 'kubernetes_healthcheck' && labels['name'] === 'syncloop'),
    )
  })

  test('the service proxy and the DNS serve health and metrics on the address of the node', async () => {
    assert.match(await fetchFrom(10_256, '/healthz'), /"nodeEligible":true,"healthy":true/)
    assert.match(await fetchFrom(10_256, '/livez'), /"healthy":true/)
    const proxy = parse(await fetchFrom(10_249, '/metrics'))
    const programmed = 'kubeproxy_network_programming_duration_seconds_count'
    assert.ok(proxy.some(({ name, value }) => name === programmed && value > 0))
    assert.ok(proxy.some(({ name }) => name === 'kubeproxy_sync_proxy_rules_last_timestamp_seconds'))
    const requested = 'rest_client_requests_total'
    assert.ok(proxy.some(({ name, labels }) => name === requested && labels['method'] === 'GET'))
    const answered = (await kubectl('exec', 'busy', '--', 'nslookup', 'web.default.svc.cluster.local')).trim()
    assert.match(answered, /web\.default\.svc\.cluster\.local/)
    const dns = parse(await fetchFrom(9_153, '/metrics'))
    const isAnswer = ({ name, labels, value }: Sample): boolean =>
      name === 'coredns_dns_responses_total' && labels['rcode'] === 'NOERROR' && value > 0
    assert.ok(dns.some(isAnswer))
    assert.equal(await fetchFrom(9_153, '/ready'), 'OK')
    const ports = await kubectl(
      'get',
      'service',
      'kube-dns',
      '-n',
      'kube-system',
      '-o',
      'jsonpath={.spec.ports[*].name}',
    )
    assert.equal(ports, 'dns dns-tcp metrics')
  })
})
