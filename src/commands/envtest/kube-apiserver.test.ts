import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiServerFlags } from '#/apiserver/flags.ts'
import { flagsWithoutEffect } from './flags-without-effect.ts'
import { completeFlags, kubeApiServerHelp } from './kube-apiserver.ts'

test("unset flags have kube-apiserver's defaults", () => {
  assert.deepEqual(completeFlags({}, false), {
    'enable-bootstrap-token-auth': false,
    'service-cluster-ip-range': '10.0.0.0/24',
    'authorization-mode': ['AlwaysAllow'],
  })
  const given = { 'service-cluster-ip-range': '10.9.0.0/24', 'authorization-config': '/file' }
  assert.deepEqual(completeFlags(given, true), { 'enable-bootstrap-token-auth': false, ...given })
})

test('with nodes, the Node authorizer is added', () => {
  const check = (modes: string, expected: string): void => {
    const flags = completeFlags({ 'authorization-mode': modes.split(',') }, true)
    assert.equal(flags['authorization-mode']?.join(','), expected)
  }
  check('RBAC', 'Node,RBAC')
  check('RBAC,Node', 'RBAC,Node')
  assert.deepEqual(completeFlags({ 'authorization-mode': ['RBAC'] }, false)['authorization-mode'], ['RBAC'])
})

test('a flag has an effect or is listed among those without one, and is in the help once', () => {
  const ignored = Object.keys(flagsWithoutEffect())
  assert.deepEqual(
    ignored.filter(name => name in apiServerFlags),
    [],
  )
  for (const name of [...ignored, ...Object.keys(apiServerFlags), 'secure-port', 'cert-dir']) {
    assert.equal(kubeApiServerHelp.match(new RegExp(`^ +--${name}(?: |$)`, 'gm'))?.length, 1, name)
  }
})
