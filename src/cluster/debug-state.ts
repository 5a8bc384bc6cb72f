/**
 * The state of the components of this process, as JSON below `/debug/`: `/debug/scheduling/NAMESPACE/POD` is the last
 * scheduling decision on a pod, `/debug/scheduling` lists the latest ones, `/debug/watches` lists who watches what, and
 * `/debug/components` shows work queues and informers.
 */
import type { ApiServer } from '#/apiserver/api-server.ts'
import { apiVersionOf } from '#/api/resource.ts'
import type { Informers } from '#/client/informers.ts'
import type { ControlPlane } from './control-plane.ts'

export interface DebugStateSource {
  readonly apiServer: ApiServer | undefined
  readonly controlPlane: ControlPlane | undefined
}

/** Undefined for other paths, and while the component has not started. */
export function debugState(path: string, { apiServer, controlPlane }: DebugStateSource): object | undefined {
  if (path === '/debug/watches') return apiServer && { watches: watchesOf(apiServer) }
  if (path === '/debug/components') return apiServer && controlPlane && componentsOf(apiServer, controlPlane)
  if (path === '/debug/scheduling') {
    return controlPlane && { decisions: controlPlane.scheduler.latestDecisions(decisionsMax) }
  }
  return controlPlane?.schedulingDecision(schedulingPath.exec(path)?.[1] ?? '')
}

/** Number of decisions in the list. */
const decisionsMax = 200

const schedulingPath = /^\/debug\/scheduling\/([^/]+\/[^/]+)$/

/** The attributes of a served watch are getters of its session. */
function watchesOf({ watches }: ApiServer): object[] {
  return Array.from(watches, watch => ({
    user: watch.user,
    userAgent: watch.userAgent,
    apiVersion: watch.apiVersion,
    resource: watch.resource,
    namespace: watch.namespace,
    labelSelector: watch.labelSelector,
    fieldSelector: watch.fieldSelector,
    since: new Date(watch.sinceMs).toISOString(),
    backlog: watch.backlog,
    sent: watch.sent,
  }))
}

function componentsOf(apiServer: ApiServer, { manager, scheduler }: ControlPlane): object {
  return {
    workQueues: Array.from(manager.metrics(), ([name, metrics]) => ({ name, ...metrics })),
    schedulingQueue: scheduler.queueSizes,
    informers: [
      ...informersOf('kube-controller-manager', { apiServer, informers: manager.informers }),
      ...informersOf('kube-scheduler', { apiServer, informers: scheduler.informers }),
    ],
  }
}

interface InformersSource {
  readonly apiServer: ApiServer
  readonly informers: Informers
}

function informersOf(component: string, { apiServer, informers }: InformersSource): object[] {
  return informers.all().map(informer => {
    const { resource, selection, resourceVersion } = informer
    return {
      component,
      apiVersion: apiVersionOf(resource),
      resource: resource.plural,
      selection,
      objects: informer.list().length,
      resourceVersion,
      /**
       * Revision of the last change of the resource. An informer without a selection lags behind while its own is
       * lower; one with a selection may not be concerned by the change.
       */
      lastChange: apiServer.lastChange(resource),
    }
  })
}
