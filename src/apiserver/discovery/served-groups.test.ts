import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultResources } from '#/api/builtin.ts'
import { Scheme } from '#/api/scheme.ts'
import { servedGroups, type AggregatedVersions, type ExtensionVersion } from './served-groups.ts'

test('groups and versions are ordered by the priorities of their APIServices', () => {
  const resources = defaultResources().filter(({ group }) =>
    ['', 'apps', 'batch', 'autoscaling'].includes(group),
  )
  /** `group/version` of extension servers, and priorities as `group/version: group priority, version priority`. */
  const check = (given: string, expected: string): void => {
    const priorities: [string, { groupPriorityMinimum: number; versionPriority: number }][] = []
    const extensions: ExtensionVersion[] = []
    for (const line of given.split(';').filter(Boolean)) {
      const [, remote, apiVersion = '', group, version] = /^ *(remote )?(\S+): (\d+), (\d+)$/.exec(line) ?? []
      priorities.push([apiVersion, { groupPriorityMinimum: Number(group), versionPriority: Number(version) }])
      const [name = '', part = ''] = apiVersion.split('/')
      if (remote) extensions.push({ group: name, version: part, resources: [], freshness: 'Stale' })
    }
    const aggregated: AggregatedVersions = { extensions, priorities: new Map(priorities) }
    const groups = servedGroups(new Scheme(resources).groups(), aggregated).map(({ name, versions }) => {
      return `${name}: ${versions.map(each => `${each.version}${each.extension ? '*' : ''}`).join(' ')}`
    })
    assert.equal(groups.join(', '), expected, given)
  }
  check('', ': v1, apps: v1, autoscaling: v2 v1, batch: v1')
  check('remote x.io/v1: 17450, 9', ': v1, apps: v1, autoscaling: v2 v1, x.io: v1*, batch: v1')
  check(
    'remote x.io/v1: 100, 9; remote b.io/v1: 100, 9',
    ': v1, apps: v1, autoscaling: v2 v1, batch: v1, b.io: v1*, x.io: v1*',
  )
  check('batch/v1: 19000, 1', 'batch: v1, : v1, apps: v1, autoscaling: v2 v1')
  // The highest priority of its versions is that of a group.
  check(
    'remote x.io/v1: 100, 9; remote x.io/v2beta1: 17850, 9; remote x.io/v3: 5, 10',
    ': v1, x.io: v3* v1* v2beta1*, apps: v1, autoscaling: v2 v1, batch: v1',
  )
  check('autoscaling/v1: 17500, 31', ': v1, apps: v1, autoscaling: v1 v2, batch: v1')
  // An extension server replaces what this server has.
  check('remote apps/v1: 17800, 15', ': v1, apps: v1*, autoscaling: v2 v1, batch: v1')
})
