import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { forbiddenSysctl, sysctlsOf } from './pod-sysctls.ts'

function podOf(name: string, spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: {},
    spec: { containers: [], securityContext: { sysctls: [{ name, value: '1' }] }, ...spec },
  }
}

test('only safe sysctls are allowed unless the node allows others', () => {
  const refused = (name: string, why: string): string => `forbidden sysctl: "${name}" ${why}`
  const cases: readonly (readonly [string, Partial<PodSpec>, readonly string[], string | undefined])[] = [
    ['net.ipv4.tcp_syncookies', {}, [], undefined],
    ['net/ipv4/tcp_syncookies', {}, [], undefined],
    ['kernel.shm_rmid_forced', {}, [], undefined],
    ['kernel.msgmax', {}, [], refused('kernel.msgmax', 'not allowlisted')],
    ['kernel.msgmax', {}, ['kernel.msg*'], undefined],
    ['kernel.msgmax', {}, ['kernel.msgmax'], undefined],
    ['net.core.somaxconn', {}, ['kernel.msg*'], refused('net.core.somaxconn', 'not allowlisted')],
    ['net.core.somaxconn', {}, ['net.*'], undefined],
    ['vm.swappiness', {}, ['vm.*'], refused('vm.swappiness', 'not allowlisted')],
    [
      'net.ipv4.tcp_syncookies',
      { hostNetwork: true },
      [],
      refused('net.ipv4.tcp_syncookies', 'not allowed with host Net enabled'),
    ],
    [
      'kernel.shm_rmid_forced',
      { hostIPC: true },
      [],
      refused('kernel.shm_rmid_forced', 'not allowed with host IPC enabled'),
    ],
    ['kernel.shm_rmid_forced', { hostNetwork: true }, [], undefined],
  ]
  for (const [name, spec, allowed, expected] of cases) {
    assert.equal(forbiddenSysctl(podOf(name, spec), allowed), expected, `${name} ${allowed.join(' ')}`)
  }
  assert.equal(forbiddenSysctl({ metadata: {}, spec: { containers: [] } }, []), undefined)
})

test('sysctl names are normalized to dots', () => {
  assert.deepEqual(sysctlsOf(podOf('net/ipv4/conf/eth0.100/forwarding')), {
    'net.ipv4.conf.eth0/100.forwarding': '1',
  })
  assert.deepEqual(sysctlsOf(podOf('net.ipv4.conf.eth0/100.forwarding')), {
    'net.ipv4.conf.eth0/100.forwarding': '1',
  })
  assert.deepEqual(sysctlsOf({ metadata: {}, spec: { containers: [] } }), {})
})
