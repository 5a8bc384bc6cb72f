import { test } from 'node:test'
import { columnsUnderTest } from '../testdata/check-columns.ts'

const group = 'networking.k8s.io'

test('the Ingress table shows hosts, addresses and ports', () => {
  const { row, check } = columnsUnderTest(group, 'Ingress')
  row({}, 'a', '<none>', '*', '', '80', '5m')
  row(
    {
      spec: { ingressClassName: 'nginx', rules: [{ host: 'x.example' }], tls: [{}] },
      status: { loadBalancer: { ingress: [{ ip: '2.2.2.2' }, { hostname: '1.example' }] } },
    },
    'a',
    'nginx',
    'x.example',
    '1.example,2.2.2.2',
    '80, 443',
    '5m',
  )
  const hosts = (text: string, ...names: readonly string[]): void =>
    check({ spec: { rules: names.map(host => ({ host })) } }, { Hosts: text })
  hosts('*', '', '')
  hosts('x,y,z', 'x', '', 'y', 'z')
  hosts('x,y,z + 1 more...', 'x', 'y', 'z', '')
  hosts('x,y,z + 3 more...', 'x', 'y', '', 'z', 'v', 'w')
})

test('the IngressClass table shows parameters and the default class', () => {
  const { row, check } = columnsUnderTest(group, 'IngressClass')
  row({ spec: { controller: 'x/y' } }, 'a', 'x/y', '<none>', '5m')
  check({ spec: { parameters: { kind: 'Config', name: 'c' } } }, { Parameters: 'Config/c' })
  check(
    { spec: { parameters: { apiGroup: 'x.example', kind: 'Config', name: 'c' } } },
    { Parameters: 'Config.x.example/c' },
  )
  const key = 'ingressclass.kubernetes.io/is-default-class'
  const named = (value: string): object => ({ annotations: { [key]: value } })
  check({ metadata: named('true') }, { Name: 'a (default)' })
  check({ metadata: named('false') }, { Name: 'a' })
})

test('tables of NetworkPolicy, ServiceCIDR and IPAddress', () => {
  const policies = columnsUnderTest(group, 'NetworkPolicy')
  policies.row({ spec: { podSelector: {} } }, 'a', '<none>', '5m')
  const matchExpressions = [{ key: 'b', operator: 'DoesNotExist' }]
  policies.row(
    { spec: { podSelector: { matchLabels: { app: 'x' }, matchExpressions } } },
    'a',
    'app=x,!b',
    '5m',
  )
  columnsUnderTest(group, 'ServiceCIDR').row(
    { spec: { cidrs: ['10.0.0.0/24', 'fd00::/112'] } },
    'a',
    '10.0.0.0/24,fd00::/112',
    '5m',
  )
  const addresses = columnsUnderTest(group, 'IPAddress')
  addresses.row({}, 'a', '<none>')
  addresses.row(
    { spec: { parentRef: { resource: 'services', namespace: 'default', name: 'x' } } },
    'a',
    'services/default/x',
  )
  addresses.row(
    { spec: { parentRef: { group: 'x.example', resource: 'Gates', name: 'x' } } },
    'a',
    'gates.x.example/x',
  )
})
