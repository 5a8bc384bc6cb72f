import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  defaultInitConfiguration,
  defaultJoinConfiguration,
  formatConfiguration,
  readConfiguration,
  splitEndpoint,
} from './configuration.ts'

const read = (text: string) =>
  readConfiguration(text, { source: 'configuration file cluster.yaml', minor: '36' })
const head = (kind: string): string => `apiVersion: kubeadm.k8s.io/v1beta4\nkind: ${kind}\n`
const cluster = head('ClusterConfiguration')
const init = head('InitConfiguration')
const join = `${head('JoinConfiguration')}discovery: {file: {kubeConfigPath: /tmp/x.conf}}\n`

test('all documents of a file are read, in any order', () => {
  const {
    cluster: read1,
    init: read2,
    join: read3,
    kubelet,
  } = read(
    [
      `${init}nodeRegistration: {name: cp1, taints: []}\nlocalAPIEndpoint: {advertiseAddress: 10.0.0.1, bindPort: 743}`,
      `${cluster}networking: {podSubnet: "10.1.0.0/16,fd00::/56"}\napiServer: {extraArgs: [{name: v, value: "4"}]}`,
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50',
      join,
    ].join('\n---\n'),
  )
  assert.deepEqual(read2.nodeRegistration, { name: 'cp1', taints: [] })
  assert.deepEqual(read2.localAPIEndpoint, { advertiseAddress: '10.0.0.1', bindPort: 743 })
  assert.equal(read1.networking?.podSubnet, '10.1.0.0/16,fd00::/56')
  assert.deepEqual(read1.apiServer?.extraArgs, [{ name: 'v', value: '4' }])
  assert.deepEqual(kubelet, { maxPods: 50 })
  assert.deepEqual(read3?.discovery, { file: { kubeConfigPath: '/tmp/x.conf' } })
})

test('a token with a ttl of zero does not expire', () => {
  for (const ttl of ['0', '0s', '0h0m0s'])
    assert.deepEqual(read(`${init}bootstrapTokens: [{ttl: "${ttl}"}]`).init.bootstrapTokens, [{ ttl }])
})

test('the printed defaults are a valid configuration file', () => {
  const options = { nodeName: 'cp1', kubernetesVersion: 'v1.36.0', certificatesDir: '/x/pki' }
  const defaults = defaultInitConfiguration(options)
  const joining = defaultJoinConfiguration(options)
  const text = [
    formatConfiguration('ClusterConfiguration', defaults.cluster),
    formatConfiguration('InitConfiguration', defaults.init),
    formatConfiguration('JoinConfiguration', joining),
  ].join('---\n')
  const got = read(text)
  assert.deepEqual(got.cluster, defaults.cluster)
  assert.deepEqual(got.init, defaults.init)
  assert.deepEqual(got.join, joining)
})

test('each fault of a file is a line with the path of the field', () => {
  const check = (text: string, expected: string | RegExp): void => {
    assert.throws(
      () => read(text),
      (error: Error) => {
        const message = error.message.replace('cannot use configuration file cluster.yaml: ', '')
        if (typeof expected === 'string') assert.equal(message, expected)
        else assert.match(message, expected)
        return true
      },
    )
  }
  check('', 'the file has no configuration')
  check('a: [', /yaml: line 1/)
  check(
    'kind: Pod\napiVersion: v1',
    /v1 Pod is not supported: use ClusterConfiguration, InitConfiguration, Join/,
  )
  check(
    'kind: InitConfiguration\napiVersion: kubeadm.k8s.io/v1beta3',
    /kubeadm.k8s.io\/v1beta3 InitConf.*v1beta4/,
  )
  check(`${cluster}---\n${cluster}`, 'ClusterConfiguration is there twice')
  check(`${cluster}clusterName: a\nclusterName: b`, /clusterName" is already set/)
  check(`${cluster}networking: {podsubnet: x}`, 'ClusterConfiguration: unknown field networking.podsubnet')
  check(
    `${init}nodeRegistration: {criSocket: unix:///x.sock}`,
    'InitConfiguration: field nodeRegistration.criSocket is not supported: each node has a containerd of its own',
  )
  check(`${cluster}apiServer: {certSANs: yes}`, /ClusterConfiguration: .*certSANs/)
  check(
    `${cluster}networking: {podSubnet: 10.1.0.0}`,
    /networking.podSubnet: invalid value "10.1.0.0": must be a CIDR/,
  )
  check(
    `${cluster}networking: {dnsDomain: k8s.local}`,
    /networking.dnsDomain: .* only cluster.local is supported/,
  )
  check(
    `${cluster}kubernetesVersion: v1.30.0`,
    /kubernetesVersion: .*"v1.30.0": this k8ts is Kubernetes v1.36/,
  )
  check(`${cluster}controlPlaneEndpoint: "lb:99999"`, /controlPlaneEndpoint: .* must be HOST or HOST:PORT/)
  check(`${cluster}apiServer: {certSANs: [a, "b c"]}`, /apiServer.certSANs\[1\]: invalid value "b c"/)
  check(`${cluster}encryptionAlgorithm: RSA-2048`, /encryptionAlgorithm: .* only ECDSA-P256 is supported/)
  check(
    `${cluster}certificateValidityPeriod: 1y`,
    /certificateValidityPeriod: .* must be a positive duration/,
  )
  check(
    `${cluster}etcd: {local: {}, external: {}}`,
    /etcd: local and external are mutually exclusive\n.*endpoints/,
  )
  check(
    `${cluster}etcd: {external: {endpoints: [10.0.0.1]}}`,
    /etcd.external.endpoints\[0\]: .* must be a URL/,
  )
  check(
    `${init}bootstrapTokens: [{token: a.b, ttl: -1h}]`,
    /bootstrapTokens\[0\].token: .*\n.*\[0\].ttl: invalid value "-1h"/,
  )
  check(
    `${init}bootstrapTokens: [{ttl: 1h, expires: x}]`,
    /ttl and expires are mutually exclusive\n.*must be a time/,
  )
  check(`${init}bootstrapTokens: [{usages: [x]}]`, /bootstrapTokens\[0\]: invalid bootstrap token usage "x"/)
  check(
    `${init}localAPIEndpoint: {advertiseAddress: a, bindPort: 0}`,
    /advertiseAddress: .*\n.*bindPort: invalid value "0"/,
  )
  check(
    `${init}nodeRegistration: {name: A, taints: [{key: a, effect: Never}]}`,
    /name: .*\n.*taints\[0\].effect: .*"Never"/,
  )
  check(`${init}certificateKey: abc`, /certificateKey: .*expected 64 hexadecimal digits/)
  check(`${init}timeouts: {discovery: soon}`, /timeouts.discovery: invalid value "soon"/)
  check(head('JoinConfiguration'), /discovery: exactly one of bootstrapToken and file is required/)
  const bootstrapToken = '{token: abcdef.0123456789abcdef, apiServerEndpoint: "10.0.0.1:6443"}'
  check(
    `${head('JoinConfiguration')}discovery: {bootstrapToken: ${bootstrapToken}}`,
    /without a CA hash can be unsafe/,
  )
  check(
    `${head('JoinConfiguration')}discovery: {bootstrapToken: {caCertHashes: ["sha1:00"]}}`,
    /token: .*\n.*apiServerEndpoint: must be HOST:PORT\n.*caCertHashes\[0\]: unknown hash format "sha1"/,
  )
})

test('endpoints are hosts with or without a port', () => {
  assert.deepEqual(splitEndpoint('10.0.0.1'), { host: '10.0.0.1', port: undefined })
  assert.deepEqual(splitEndpoint('lb.example.com:6443'), { host: 'lb.example.com', port: 6443 })
  assert.deepEqual(splitEndpoint('[fd00::1]:6443'), { host: 'fd00::1', port: 6443 })
  assert.deepEqual(splitEndpoint('fd00::1'), { host: 'fd00::1', port: undefined })
  for (const wrong of ['', ':6443', 'a:0', 'a:b', '[a]:1', 'https://a:1', 'a/b', 'A'])
    assert.equal(splitEndpoint(wrong), undefined, wrong)
})
