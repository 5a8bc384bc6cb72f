import { test } from 'node:test'
import { columnsUnderTest } from '../testdata/check-columns.ts'

const { row, check } = columnsUnderTest('autoscaling', 'HorizontalPodAutoscaler')

function targets(metrics: readonly object[], currentMetrics: readonly object[], text: string): void {
  check({ spec: { metrics }, status: { currentMetrics } }, { Targets: text })
}

const cpu = (target: object): object => ({ type: 'Resource', resource: { name: 'cpu', target } })
const cpuNow = (current: object): object => ({ type: 'Resource', resource: { name: 'cpu', current } })

test('the HPA table shows the scale target', () => {
  row({}, 'a', '/', '<none>', '<unset>', 0, 0, '5m')
  row(
    {
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' }, minReplicas: 1, maxReplicas: 5 },
      status: { currentReplicas: 2 },
    },
    'a',
    'Deployment/web',
    '<none>',
    '1',
    5,
    2,
    '5m',
  )
})

test('resource metrics are shown as utilization or average value', () => {
  targets([cpu({ averageUtilization: 80 })], [], 'cpu: <unknown>/80%')
  targets([cpu({ averageUtilization: 80 })], [cpuNow({ averageUtilization: 3 })], 'cpu: 3%/80%')
  targets(
    [cpu({ averageUtilization: 80 })],
    [cpuNow({ averageUtilization: 0, averageValue: '0' })],
    'cpu: 0%/80%',
  )
  targets([cpu({})], [cpuNow({})], 'cpu: <unknown>/<auto>')
  targets([cpu({ averageValue: '100m' })], [], 'cpu: <unknown>/100m')
  targets([cpu({ averageValue: '100m' })], [cpuNow({ averageValue: '50m' })], 'cpu: 50m/100m')
  targets([cpu({ averageValue: '100m' })], [cpuNow({})], 'cpu: <nil>/100m')
  const containerResource = { name: 'memory', target: { averageUtilization: 70 } }
  const container = { type: 'ContainerResource', containerResource }
  targets([container], [], 'memory: <unknown>/70%')
  targets([container], [{ containerResource: { current: { averageUtilization: 20 } } }], 'memory: 20%/70%')
})

test('other metrics are shown as values', () => {
  const pods = { type: 'Pods', pods: { target: { averageValue: '100' } } }
  targets([pods], [], '<unknown>/100')
  targets([pods], [{ pods: { current: { averageValue: '50' } } }], '50/100')
  for (const [type, field] of [
    ['External', 'external'],
    ['Object', 'object'],
  ] as const) {
    const metric = (target: object): object => ({ type, [field]: { target } })
    targets([metric({ value: '100' })], [], '<unknown>/100')
    targets([metric({ value: '100' })], [{ [field]: { current: { value: '50' } } }], '50/100')
    targets([metric({ value: '100' })], [{ [field]: { current: { averageValue: '50' } } }], '<nil>/100')
    targets([metric({ averageValue: '100' })], [], '<unknown>/100 (avg)')
    targets(
      [metric({ averageValue: '100' })],
      [{ [field]: { current: { averageValue: '50' } } }],
      '50/100 (avg)',
    )
  }
  targets([{ type: 'x' }, { type: 'Pods' }], [], '<unknown type>, <unknown>/<nil>')
})

test('the HPA table shows two metrics and the number of others', () => {
  const use = cpu({ averageUtilization: 80 })
  targets([use, use], [{}, cpuNow({ averageUtilization: 1 })], 'cpu: <unknown>/80%, cpu: 1%/80%')
  targets([use, use, use, use], [], 'cpu: <unknown>/80%, cpu: <unknown>/80% + 2 more...')
})
