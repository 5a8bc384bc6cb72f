import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planEtcdMember, type EtcdMemberOptions } from './etcd-member.ts'
import { parseEtcdFlags, parseEtcdVersion } from './etcd-program.ts'

const debian12 = ['experimental-initial-corrupt-check', 'experimental-watch-progress-notify-interval']

const host: EtcdMemberOptions = {
  program: { flags: new Set(debian12), environment: {} },
  nodeName: 'n1',
  advertiseAddress: '10.0.0.1',
  certificatesDir: '/k8ts/pki',
  folder: '/k8ts',
  local: {},
}

test('the first etcd member of a cluster has the ports, files and flags of kubeadm', () => {
  assert.deepEqual(planEtcdMember(host), {
    name: 'n1',
    command: [
      'etcd',
      '--name=n1',
      '--data-dir=/k8ts/etcd',
      '--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.1:2379',
      '--advertise-client-urls=https://10.0.0.1:2379',
      '--listen-peer-urls=https://10.0.0.1:2380',
      '--initial-advertise-peer-urls=https://10.0.0.1:2380',
      '--listen-metrics-urls=http://127.0.0.1:2381',
      '--initial-cluster-token=etcd-cluster',
      '--cert-file=/k8ts/pki/etcd/server.crt',
      '--key-file=/k8ts/pki/etcd/server.key',
      '--trusted-ca-file=/k8ts/pki/etcd/ca.crt',
      '--client-cert-auth=true',
      '--peer-cert-file=/k8ts/pki/etcd/peer.crt',
      '--peer-key-file=/k8ts/pki/etcd/peer.key',
      '--peer-trusted-ca-file=/k8ts/pki/etcd/ca.crt',
      '--peer-client-cert-auth=true',
      '--snapshot-count=10000',
      '--quota-backend-bytes=2147483648',
      '--auto-compaction-retention=0',
      '--logger=zap',
      '--log-outputs=stderr',
      '--experimental-initial-corrupt-check=true',
      '--experimental-watch-progress-notify-interval=5s',
      '--initial-cluster=n1=https://10.0.0.1:2380',
      '--initial-cluster-state=new',
    ],
    environment: {},
    dataDir: '/k8ts/etcd',
    localUrl: 'https://127.0.0.1:2379',
    clientUrl: 'https://10.0.0.1:2379',
    peerUrls: ['https://10.0.0.1:2380'],
    metricsUrl: 'http://127.0.0.1:2381',
  })
})

test('the configuration, the address and the version of etcd decide about its flags', () => {
  const check = (changed: Partial<EtcdMemberOptions>, has: readonly string[], lacks = ''): void => {
    const { command } = planEtcdMember({ ...host, ...changed })
    for (const flag of has) assert.ok(command.includes(flag), `${flag} in ${command.join(' ')}`)
    if (lacks !== '') assert.ok(!command.some(flag => flag.startsWith(lacks)), lacks)
    assert.equal(new Set(command).size, command.length)
  }
  const args = (...given: readonly string[]): Partial<EtcdMemberOptions> => {
    const extraArgs = given.map(each => ({ name: each.split('=')[0]!, value: each.replace(/^[^=]*=/, '') }))
    return { local: { extraArgs } }
  }
  const program = (...flags: readonly string[]): Partial<EtcdMemberOptions> => ({
    program: { flags: new Set(flags), environment: {} },
  })
  check({ initialCluster: 'n0=https://10.0.0.9:2380,n1=https://10.0.0.1:2380' }, [
    '--initial-cluster=n0=https://10.0.0.9:2380,n1=https://10.0.0.1:2380',
    '--initial-cluster-state=existing',
  ])
  check({ advertiseAddress: 'fd00::1' }, [
    '--listen-client-urls=https://[::1]:2379,https://[fd00::1]:2379',
    '--initial-cluster=n1=https://[fd00::1]:2380',
    '--listen-metrics-urls=http://[::1]:2381',
  ])
  check({ advertiseAddress: '127.0.0.1' }, ['--listen-client-urls=https://127.0.0.1:2379'])
  check({ local: { dataDir: '/var/lib/etcd' } }, ['--data-dir=/var/lib/etcd'])
  check(args('quota-backend-bytes=8000000000', 'heartbeat-interval=200'), [
    '--quota-backend-bytes=8000000000',
    '--heartbeat-interval=200',
  ])
  check(args('quota-backend-bytes=8000000000'), [], '--quota-backend-bytes=2')
  check(args('initial-advertise-peer-urls=https://a:1,https://b:1'), [
    '--initial-cluster=n1=https://a:1,n1=https://b:1',
  ])
  check(args('initial-cluster-state=existing'), ['--initial-cluster-state=existing'])
  check(args('initial-cluster-state=existing'), [], '--initial-cluster-state=new')
  check(args('initial-cluster-token=mine'), ['--initial-cluster-token=mine'])
  check(program(), [], '--experimental')
  check(program(...debian12, 'feature-gates', 'watch-progress-notify-interval'), [
    '--feature-gates=InitialCorruptCheck=true',
    '--watch-progress-notify-interval=5s',
  ])
})

test('the version and the flags of etcd are read from its output', () => {
  assert.equal(parseEtcdVersion('etcd Version: 3.4.23\nGit SHA: Not provided\n'), '3.4.23')
  assert.equal(parseEtcdVersion('etcd Version: 3.6.0-rc.1\n'), '3.6.0-rc.1')
  assert.throws(() => parseEtcdVersion('etcd Version: 3.3.25\n'), /too old: install etcd 3.4 or newer/)
  assert.throws(() => parseEtcdVersion('etcd on unsupported platform'), /unsupported platform/)
  const help = `Usage:\n  etcd --version\n    Show\n\nMember:\n  --name 'default'\n    See --nothing.\n`
  assert.deepEqual([...parseEtcdFlags(help)], ['name'])
})
