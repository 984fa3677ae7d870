. /tmp/h-breaker/base.sh
new G; printf 'a\r\n'>c; git -c core.autocrlf=input add c; git -c core.autocrlf=input commit -qm c; git config core.autocrlf input; sleep 0.05; touch c; 
export GIT_TASKCTX_TRACE=1; fp;fp;fp; git config core.autocrlf false; fp; GIT_INDEX_FILE=.git/taskctx/index git ls-files --debug c; git ls-files --debug c;  stat c; git ls-files -s c; git status -s
