import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyRule } from '#/api/generated/rbac/v1.ts'
import { breakdownRule, compactRules, ruleText, uncoveredRules } from './policy-rules.ts'

/** `get,list pods.apps name` or `get /healthz`. */
function rule(text: string): PolicyRule {
  const [verbs = '', target = '', name] = text.split(' ')
  if (target.startsWith('/')) return { verbs: verbs.split(','), nonResourceURLs: target.split(',') }
  const pairs = target.split(',').map(each => each.split('.'))
  return {
    verbs: verbs.split(','),
    apiGroups: [...new Set(pairs.map(([, group = '']) => group))],
    resources: [...new Set(pairs.map(([resource = '']) => resource))],
    ...(name && { resourceNames: name.split(',') }),
  }
}

test('a rule is broken down to single verbs, resources and names', () => {
  assert.deepEqual(breakdownRule(rule('get,list pods a,b')), [
    rule('get pods a'),
    rule('get pods b'),
    rule('list pods a'),
    rule('list pods b'),
  ])
  assert.deepEqual(
    breakdownRule(rule('get,head /a,/b')),
    ['get /a', 'head /a', 'get /b', 'head /b'].map(rule),
  )
})

test('a rule is covered by a wider one', () => {
  const check = (wanted: string, granted: readonly string[], missing: readonly string[]) =>
    assert.deepEqual(
      uncoveredRules({ wanted: [rule(wanted)], granted: granted.map(rule) }),
      missing.map(rule),
      wanted,
    )
  check('get pods', ['get pods'], [])
  check('get pods', ['* pods'], [])
  check('get,list pods', ['get pods'], ['list pods'])
  check('get pods', ['get *.*'], [])
  check('get pods', ['get pods.apps'], ['get pods'])
  check('get pods a', ['get pods'], [])
  check('get pods', ['get pods a'], ['get pods'])
  check('get pods b', ['get pods a'], ['get pods b'])
  check('get pods/log', ['get */log'], [])
  check('get pods/log', ['get */scale'], ['get pods/log'])
  check('get /healthz/ping', ['get /healthz/*'], [])
  check('get /healthz', ['get /healthz/*'], ['get /healthz'])
})

test('rules for the same resource and name are joined and sorted', () => {
  const broken = ['list pods', 'get pods', 'get pods', 'get pods a', 'get /x', 'create nodes'].map(rule)
  assert.deepEqual(compactRules(broken).map(ruleText), [
    '{Verbs:[create] APIGroups:[] Resources:[nodes] ResourceNames:[] NonResourceURLs:[]}',
    '{Verbs:[get] APIGroups:[] Resources:[] ResourceNames:[] NonResourceURLs:[/x]}',
    '{Verbs:[get] APIGroups:[] Resources:[pods] ResourceNames:[a] NonResourceURLs:[]}',
    '{Verbs:[list get] APIGroups:[] Resources:[pods] ResourceNames:[] NonResourceURLs:[]}',
  ])
})
