import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EtcdMember } from '#/store/etcd-members.ts'
import { planEtcdJoin } from './join-etcd-cluster.ts'
import { planEtcdLeave } from './leave-etcd-cluster.ts'

test('a host is added to etcd once, and only if its data belong to its member', () => {
  const check = (given: string, host: string, expected: string | RegExp): void => {
    const [name = '', url = '', data] = host.split(' ')
    const dataDir = '/k8ts/etcd'
    const plan = planEtcdJoin(membersOf(given), { name, peerUrls: [url], dataDir, hasData: data === 'data' })
    const actual =
      plan.type === 'added' ? `${plan.id} ${plan.initialCluster}` : plan.type === 'add' ? 'add' : plan.reason
    if (typeof expected === 'string') assert.equal(actual, expected)
    else assert.match(actual, expected)
  }
  check('n1@a', 'n2 b', 'add')
  // An earlier attempt ended before etcd started, or before etcd published its name.
  check('n1@a ?@b', 'n2 b', '1 n1=a,n2=b')
  check('n1@a ?@b', 'n2 b data', '1 n1=a,n2=b')
  // It has started, as a learner or with a vote.
  check('n1@a n2@b', 'n2 b data', '1 n1=a,n2=b')
  // Another host is between the two steps.
  check('n1@a ?@c ?@b', 'n2 b', '2 n1=a,1=c,n2=b')
  check('n1@a', 'n2 b data', /\/k8ts\/etcd has the data of a member that is not in the cluster.*k8ts reset/)
  check('n1@a n2@b', 'n2 b', /has a member at b whose data is not in \/k8ts\/etcd: .*etcdctl member remove 1/)
  check('n1@a n2@b', 'n2 c', /a member with this name is at b: choose another node name/)
  check('n1@a', 'n1 b', /a member with this name is at a/)
})

test('a member leaves etcd unless it is the last one with a vote', () => {
  const check = (given: string, url: string, expected: string): void => {
    const plan = planEtcdLeave(membersOf(given), [url])
    assert.equal(
      plan.type === 'remove' ? `${plan.member.id} by ${plan.endpoints.join()}` : plan.type,
      expected,
    )
  }
  check('n1@a n2@b n3@c', 'b', '1 by a/client,c/client')
  check('n1@a ?@b', 'b', '1 by a/client')
  check('n1@a n2@b/learner', 'b', '1 by a/client')
  check('n1@a n2@b/learner', 'a', 'last-member')
  check('n1@a', 'a', 'last-member')
  check('n1@a n3@c', 'b', 'absent')
})

/** `name@peerUrl`, with `?` for a member that has not started, which is a learner. IDs are counted from 0. */
function membersOf(text: string): EtcdMember[] {
  return text.split(' ').map((each, id) => {
    const [name = '', place = ''] = each.split('@')
    const [url = '', learner] = place.split('/')
    const isStarted = name !== '?'
    return {
      id: String(id),
      name: isStarted ? name : '',
      peerUrls: [url],
      clientUrls: isStarted ? [`${url}/client`] : [],
      isLearner: !isStarted || learner !== undefined,
    }
  })
}
