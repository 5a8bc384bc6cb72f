import { finishingTemplate, labels, minimalTemplate, selector, type Examples } from './example.ts'

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nowhere' }
const rules = {
  stabilizationWindowSeconds: 60,
  selectPolicy: 'Max',
  policies: [{ type: 'Pods', value: 4, periodSeconds: 60 }],
}

export const workloadExamples: Examples = {
  'apps/ControllerRevision': {
    minimal: { revision: 1, data: {} },
    rich: { revision: 2, data: { any: ['thing'] } },
  },
  'apps/DaemonSet': {
    minimal: { spec: { selector, template: minimalTemplate } },
    rich: {
      spec: {
        selector,
        template: minimalTemplate,
        minReadySeconds: 5,
        revisionHistoryLimit: 3,
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%', maxSurge: 0 } },
      },
    },
  },
  'apps/Deployment': {
    minimal: { spec: { replicas: 0, selector, template: minimalTemplate } },
    rich: {
      spec: {
        replicas: 0,
        selector: {
          matchLabels: labels,
          matchExpressions: [{ key: 'app', operator: 'In', values: ['compare'] }],
        },
        template: minimalTemplate,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: '25%' } },
        minReadySeconds: 5,
        revisionHistoryLimit: 3,
        paused: true,
        progressDeadlineSeconds: 600,
      },
    },
  },
  'apps/ReplicaSet': {
    minimal: { spec: { replicas: 0, selector, template: minimalTemplate } },
    rich: { spec: { replicas: 0, minReadySeconds: 5, selector, template: minimalTemplate } },
  },
  'apps/StatefulSet': {
    minimal: { spec: { replicas: 0, selector, template: minimalTemplate } },
    rich: {
      spec: {
        replicas: 0,
        serviceName: 'compare',
        selector,
        template: minimalTemplate,
        podManagementPolicy: 'OrderedReady',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
        revisionHistoryLimit: 3,
        minReadySeconds: 5,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Delete' },
        ordinals: { start: 1 },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
  },
  'autoscaling/HorizontalPodAutoscaler': {
    minimal: { spec: { maxReplicas: 3, scaleTargetRef } },
    rich: {
      spec: {
        minReplicas: 1,
        maxReplicas: 3,
        scaleTargetRef,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
          },
          {
            type: 'External',
            external: { metric: { name: 'queue', selector }, target: { type: 'Value', value: '30' } },
          },
        ],
        behavior: { scaleUp: rules, scaleDown: rules },
      },
    },
  },
  'autoscaling/v1/HorizontalPodAutoscaler': {
    minimal: { spec: { maxReplicas: 3, scaleTargetRef } },
    rich: { spec: { minReplicas: 1, maxReplicas: 3, scaleTargetRef, targetCPUUtilizationPercentage: 50 } },
  },
  'batch/CronJob': {
    minimal: { spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template: finishingTemplate } } } },
    rich: {
      spec: {
        schedule: '0 3 * * *',
        timeZone: 'Europe/Berlin',
        suspend: true,
        startingDeadlineSeconds: 60,
        concurrencyPolicy: 'Forbid',
        successfulJobsHistoryLimit: 1,
        failedJobsHistoryLimit: 1,
        jobTemplate: { metadata: { labels }, spec: { template: finishingTemplate } },
      },
    },
  },
  'batch/Job': {
    minimal: { spec: { suspend: true, template: finishingTemplate } },
    rich: {
      spec: {
        suspend: true,
        parallelism: 2,
        completions: 4,
        completionMode: 'Indexed',
        backoffLimitPerIndex: 1,
        maxFailedIndexes: 2,
        activeDeadlineSeconds: 600,
        ttlSecondsAfterFinished: 600,
        podReplacementPolicy: 'Failed',
        podFailurePolicy: {
          rules: [
            { action: 'FailJob', onExitCodes: { containerName: 'main', operator: 'In', values: [42] } },
            { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          ],
        },
        successPolicy: { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] },
        template: finishingTemplate,
      },
    },
  },
  'policy/PodDisruptionBudget': {
    minimal: {},
    rich: { spec: { minAvailable: '50%', selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
  },
  'scheduling.k8s.io/PriorityClass': {
    minimal: { value: 0 },
    rich: { value: 1000, globalDefault: false, description: 'goes first', preemptionPolicy: 'Never' },
  },
}
