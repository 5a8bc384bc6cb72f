import type { Command } from '../command.ts'

export const command: Command = {
  usage: 'rollout SUBCOMMAND',
  description: 'Manages the rollouts of deployments, daemon sets and stateful sets.',
  examples: `  # Back to the previous revision of a deployment
  kubectl rollout undo deployment/web

  # Wait for the rollout of a daemon set
  kubectl rollout status daemonset/agent

  # Restart the pods of a deployment
  kubectl rollout restart deployment/web

  # Restart the deployments with a label
  kubectl rollout restart deployment --selector=app=web`,
  flags: {},
  subcommands: {
    history: { summary: 'Show the revisions', load: () => import('./rollout/history.ts') },
    pause: { summary: 'Pause a deployment', load: () => import('./rollout/pause.ts') },
    restart: { summary: 'Restart the pods', load: () => import('./rollout/restart.ts') },
    resume: { summary: 'Resume a paused deployment', load: () => import('./rollout/resume.ts') },
    status: { summary: 'Show the progress of a rollout', load: () => import('./rollout/status.ts') },
    undo: { summary: 'Go back to a previous revision', load: () => import('./rollout/undo.ts') },
  },
}
